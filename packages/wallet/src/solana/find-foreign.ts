import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { SignedElsewhere } from '../chain/paying-chain.ts'
import { signaturesMax, signaturesOf, transactionOf } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/**
 * Transactions whose signers one call checks, because anyone can cheaply send an address any number of them, and no
 * endpoint lists the signers.
 */
const checkedMax = 25

/** The maximum number of pages of an address's history that one check reads. The next check continues there. */
export const pagesMax = 10

const entryColumn = z.strictObject({ signature: z.string(), slot: z.number() })
/**
 * Until where signatures were checked. The slot is used if an endpoint does not know the signature. `walk` is present
 * while a check is unfinished: everything from `top` down to `before` was checked too.
 */
const markSchema = z.strictObject({
  signature: z.string().nullable(),
  slot: z.number(),
  walk: z.strictObject({ top: entryColumn, before: entryColumn }).optional(),
})
const markColumn = jsonColumn(markSchema)

type Mark = z.infer<typeof markSchema>
type Entry = z.infer<typeof entryColumn>

/**
 * Whether the key of an address signed something that its own mesh did not. Senders to the address sign for
 * themselves. One call reads at most `pagesMax` pages and checks at most `checkedMax` unknown transactions, newest
 * first; `seen` keeps how far it came, also if the endpoint fails meanwhile.
 */
export async function findForeign(
  rpc: SolanaRpc,
  address: string,
  { since, isOwn }: { readonly since: string | null; readonly isOwn: (id: string) => boolean },
): Promise<SignedElsewhere> {
  if (since === null) return trustExisting(rpc, address)
  const check: Check = {
    rpc,
    address,
    isOwn,
    mark: markColumn.parse(since),
    pages: pagesMax,
    checks: checkedMax,
  }
  try {
    for (;;) {
      // A check that an earlier call began does not cover what arrived since.
      const isResumed = check.mark.walk !== undefined
      const { foreign, unchecked } = await walkDown(check)
      const seen = JSON.stringify(check.mark)
      if (foreign !== null || unchecked > 0) return { foreign, seen, ...(unchecked > 0 ? { unchecked } : {}) }
      if (!isResumed) return { foreign, seen }
    }
  } catch (error) {
    const seen = JSON.stringify(check.mark)
    if (seen === since) throw error
    return { foreign: null, seen, unchecked: 1 }
  }
}

/** Signatures that exist at the first check are trusted. */
async function trustExisting(rpc: SolanaRpc, address: string): Promise<SignedElsewhere> {
  const [last] = await signaturesOf(rpc, address, { before: null, until: null, limit: 1 })
  const mark: Mark = last === undefined ? { signature: null, slot: 0 } : entryOf(last)
  return { foreign: null, seen: JSON.stringify(mark) }
}

/** A check in progress, with the pages and transactions that this call may still read. */
interface Check {
  readonly rpc: SolanaRpc
  readonly address: string
  readonly isOwn: (id: string) => boolean
  mark: Mark
  pages: number
  checks: number
}

interface Walked {
  readonly foreign: string | null
  /** At least so many transactions remain. */
  readonly unchecked: number
}

const done: Walked = { foreign: null, unchecked: 0 }

/** Checks from the newest signature, or from where the last call ended, down to the mark, which then moves up. */
async function walkDown(check: Check): Promise<Walked> {
  const { rpc, address, mark } = check
  const known: Mark = { signature: mark.signature, slot: mark.slot }
  let isStored = mark.walk !== undefined
  while (check.pages > 0) {
    check.pages -= 1
    const before = check.mark.walk?.before.signature ?? null
    const page = await signaturesOf(rpc, address, { before, until: known.signature })
    if (isStored && page.length === 0) {
      // At least one signature was listed below a stored position, so the endpoint does not know the position.
      check.mark = known
      return { foreign: null, unchecked: 1 }
    }
    isStored = false
    const { foreign, unchecked, isBottom } = await checkPage(check, known, page)
    if (foreign !== null || unchecked > 0) return { foreign, unchecked }
    if (isBottom || page.length < signaturesMax) {
      check.mark = check.mark.walk?.top ?? known
      return done
    }
  }
  return { foreign: null, unchecked: 1 }
}

/** Checks the entries of a page in turn and moves the position of the walk behind each. */
async function checkPage(
  check: Check,
  known: Mark,
  page: readonly Entry[],
): Promise<Walked & { readonly isBottom: boolean }> {
  for (const [at, entry] of page.entries()) {
    // An endpoint that does not know the last checked signature would continue to the very first one.
    if (entry.slot < known.slot || entry.signature === known.signature) return { ...done, isBottom: true }
    if (!check.isOwn(entry.signature)) {
      if (check.checks === 0) {
        const left = page.slice(at).filter(({ signature }) => !check.isOwn(signature))
        return { foreign: null, unchecked: left.length, isBottom: false }
      }
      check.checks -= 1
      if (await isSignedBy(check, entry.signature))
        return { foreign: entry.signature, unchecked: 0, isBottom: false }
    }
    // The position stays above the last entry of a full page when the call ends there: see `walkDown`.
    const isLast = at === signaturesMax - 1 && check.pages === 0
    if (!isLast)
      check.mark = { ...known, walk: { top: check.mark.walk?.top ?? entryOf(entry), before: entryOf(entry) } }
  }
  return { ...done, isBottom: false }
}

async function isSignedBy({ rpc, address }: Check, signature: string): Promise<boolean> {
  const record = await transactionOf(rpc, signature)
  if (record === null) throw rpc.failed('the endpoint lists a transaction that it does not have')
  const { accountKeys, header } = record.transaction.message
  return accountKeys.slice(0, header.numRequiredSignatures).includes(address)
}

function entryOf({ signature, slot }: Entry): Entry {
  return { signature, slot }
}
