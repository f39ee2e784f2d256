import * as z from 'zod'
import { jsonColumn } from '../../storage/index.ts'
import type { SignedElsewhere } from '../chain/paying-chain.ts'
import { signaturesMax, signaturesOf, transactionOf } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** Transactions whose signers are looked at in one go: anybody can send an address next to nothing, as often as they like. */
const checkedMax = 25

/** Pages of what an address had a part in since it was checked last; with more, who signs for it is not known. */
export const pagesMax = 10

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
  if (known === null) {
    const [last] = await signaturesOf(rpc, address, { before: null, until: null, limit: 1 })
    return {
      foreign: null,
      seen: last === undefined ? seenText(null, 0) : seenText(last.signature, last.slot),
    }
  }
  const newest = await signaturesSince(rpc, address, known)
  const upTo = (entry: { signature: string; slot: number } | undefined): string =>
    entry === undefined ? (since ?? seenText(null, 0)) : seenText(entry.signature, entry.slot)
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
  return strange.length > checkedMax
    ? { foreign: null, seen: upTo(looked.at(-1)), unchecked: strange.length - checkedMax }
    : { foreign: null, seen: upTo(later[0]) }
}

/** All of them, page by page. Problem `upstream-failed` where they do not end within `pagesMax`: fewer would count too little. */
async function signaturesSince(
  rpc: SolanaRpc,
  address: string,
  known: { readonly signature: string | null; readonly slot: number },
) {
  const all: Awaited<ReturnType<typeof signaturesOf>> = []
  for (let page = 0; page < pagesMax; page++) {
    const before = all.at(-1)?.signature ?? null
    const entries = await signaturesOf(rpc, address, { before, until: known.signature })
    all.push(...entries)
    const oldest = entries.at(-1)
    // A far end that does not know where it was looked last goes on to the first of all.
    if (entries.length < signaturesMax || oldest === undefined || oldest.slot < known.slot) return all
  }
  throw rpc.failed(
    `${address} had a part in more than ${pagesMax * signaturesMax} transactions since it was checked last, so that who signs for it is not known and nothing is signed`,
  )
}

function seenText(signature: string | null, slot: number): string {
  return JSON.stringify({ signature, slot })
}
