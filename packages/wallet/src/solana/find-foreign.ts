import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { SignedElsewhere } from '../chain/paying-chain.ts'
import { signaturesMax, signaturesOf, transactionOf } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** Transactions whose signers one call checks, because anyone can cheaply send an address any number of them. */
const checkedMax = 25

/** The maximum number of pages since the last check. If there are more, the signers are unknown. */
export const pagesMax = 10

/** Until where signatures were checked. The slot is used if an endpoint does not know the signature. */
const seenColumn = jsonColumn(z.strictObject({ signature: z.string().nullable(), slot: z.number() }))

/**
 * Whether the key of an address signed something that its own mesh did not. Senders to the address sign for
 * themselves. More than `checkedMax` unknown transactions are checked over several calls, oldest first.
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
    if (record === null) throw rpc.failed('the endpoint lists a transaction that it does not have')
    const { accountKeys, header } = record.transaction.message
    if (accountKeys.slice(0, header.numRequiredSignatures).includes(address)) {
      return { foreign: entry.signature, seen: upTo(entry) }
    }
  }
  return strange.length > checkedMax
    ? { foreign: null, seen: upTo(looked.at(-1)), unchecked: strange.length - checkedMax }
    : { foreign: null, seen: upTo(later[0]) }
}

/**
 * All signatures, page by page. Problem `upstream-failed` if they exceed `pagesMax`, because a partial list would
 * miss some.
 */
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
    // An endpoint that does not know the last checked signature would continue to the very first one.
    if (entries.length < signaturesMax || oldest === undefined || oldest.slot < known.slot) return all
  }
  throw rpc.failed(
    `${address} took part in more than ${pagesMax * signaturesMax} transactions since the last check, so the mesh cannot check its signers and signs nothing`,
  )
}

function seenText(signature: string | null, slot: number): string {
  return JSON.stringify({ signature, slot })
}
