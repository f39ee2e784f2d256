import * as z from 'zod'
import { jsonColumn } from '../../storage/index.ts'
import type { SignedElsewhere } from '../chain/paying-chain.ts'
import { signaturesOf, transactionOf } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** Transactions whose signers are looked at in one go: anybody can send an address next to nothing, as often as they like. */
const checkedMax = 25

/** How far was looked. The slot holds where a far end does not know the signature. */
const seenColumn = jsonColumn(z.strictObject({ signature: z.string().nullable(), slot: z.number() }))

/**
 * Whether the key of an address signed something that its own mesh did not. Who only sends it something has signed for
 * themselves. More than `checkedMax` strange ones are looked at in turn, the oldest first, one call after the other.
 */
export async function findForeign(
  rpc: SolanaRpc,
  address: string,
  { since, isOwn }: { readonly since: string | null; readonly isOwn: (id: string) => boolean },
): Promise<SignedElsewhere> {
  const known = since === null ? null : seenColumn.parse(since)
  const newest = await signaturesOf(rpc, address, known?.signature ?? null)
  const upTo = (entry: { signature: string; slot: number } | undefined): string =>
    entry === undefined ? (since ?? seenText(null, 0)) : seenText(entry.signature, entry.slot)
  if (known === null) return { foreign: null, seen: upTo(newest[0]) }
  const later = newest.filter(({ slot, signature }) => slot >= known.slot && signature !== known.signature)
  const strange = later.toReversed().filter(({ signature }) => !isOwn(signature))
  const looked = strange.slice(0, checkedMax)
  for (const entry of looked) {
    const record = await transactionOf(rpc, entry.signature)
    if (record === null) throw rpc.failed('it names a transaction and does not have it')
    const { accountKeys, header } = record.transaction.message
    if (accountKeys.slice(0, header.numRequiredSignatures).includes(address)) {
      return { foreign: entry.signature, seen: upTo(entry) }
    }
  }
  return { foreign: null, seen: upTo(strange.length > checkedMax ? looked.at(-1) : later[0]) }
}

function seenText(signature: string | null, slot: number): string {
  return JSON.stringify({ signature, slot })
}
