import type { Fate, Place } from '../chain/paying-chain.ts'
import { landedEffects } from './landed-effects.ts'
import { finalizedEpoch, oldestHeight, signatureStatus, transactionOf } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** Blocks for which a blockhash is taken. */
export const blockhashLifeBlocks = 150

/**
 * What became of a signature. `expired` is said only where all of this holds of one far end, asked in this order: a block
 * that stays is past the last height; its view of signatures is no older than that block; it knows of none; and it remembers
 * every block that could have had it.
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
    // One vote more than none says little: a block of that kind is dropped every day.
    if (!final && status.confirmationStatus !== 'confirmed') return { kind: 'waiting' }
    const succeeded = status.err == null
    // Undone, it cost its fee and nothing else.
    const effects = final && succeeded ? landedEffects(await transactionOf(rpc, id), from) : null
    return { kind: 'landed', succeeded, block: Number(status.slot), final, effects }
  }
  if (passed.blockHeight <= place.lastHeight || slot < passed.absoluteSlot) return { kind: 'missing' }
  const bornAt = place.lastHeight - blockhashLifeBlocks
  return { kind: (await oldestHeight(rpc)) <= Math.max(0, bornAt) ? 'expired' : 'missing' }
}
