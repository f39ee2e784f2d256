import type { Fate, Place } from '../chain/paying-chain.ts'
import { landedEffects } from './landed-effects.ts'
import { finalizedEpoch, oldestHeight, signatureStatus, transactionOf } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** Blocks for which a blockhash is valid. */
export const blockhashLifeBlocks = 150

/**
 * Returns what became of a signature. For `expired`, one endpoint must show, in this order: a final
 * block is beyond the last height; its view of signatures is not older than that block; it does not
 * know the signature; and it remembers every block that could contain the signature.
 */
export async function followTransfer(
  rpc: SolanaRpc,
  {
    from,
    id,
    place,
  }: {
    readonly from: string
    readonly id: string
    readonly place: Extract<Place, { readonly kind: 'expiring' }>
  },
): Promise<Fate> {
  const passed = await finalizedEpoch(rpc)
  const { slot, status } = await signatureStatus(rpc, id)
  if (status !== null) {
    const final = status.confirmationStatus === 'finalized'
    // A block below the commitment level `confirmed` is often dropped.
    if (!final && status.confirmationStatus !== 'confirmed') return { kind: 'waiting' }
    const succeeded = status.err == null
    // A failed transaction cost its fee and nothing else.
    const effects = final && succeeded ? landedEffects(await transactionOf(rpc, id), from) : null
    return { kind: 'landed', succeeded, block: Number(status.slot), final, effects }
  }
  if (passed.blockHeight <= place.lastHeight || slot < passed.absoluteSlot) return { kind: 'missing' }
  const bornAt = place.lastHeight - blockhashLifeBlocks
  return { kind: (await oldestHeight(rpc)) <= Math.max(0, bornAt) ? 'expired' : 'missing' }
}
