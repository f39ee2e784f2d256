import type * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { faultOfAccepted } from './accepted-rows.ts'
import { chainHash, genesisHash } from './chain-hash.ts'
import type { JournalAnchors } from './journal-anchors.ts'
import { baseOf, readCheckpoints } from './journal-checkpoints.ts'
import type { Checkpoint } from './journal-checkpoints.ts'
import { checkpointText, headText } from './journal-seal.ts'
import type { JournalSeal } from './journal-seal.ts'
import { readHead } from './journal-table.ts'
import { linkSchema, readJournal, rowsAfter } from './read-journal.ts'

/** Rows read at a time, so that a long journal is verified in little memory. */
const pageRows = 500

export interface JournalVerdict {
  readonly ok: boolean
  /** How many rows are valid, from the start of the verification. */
  readonly rows: number
  /** Rows up to this one were pruned, or accepted as they are. */
  readonly after?: number
  /** The person who accepted all rows up to `after`, the time, and the fault. */
  readonly accepted?: { readonly by: string; readonly at: number; readonly was: string }
  /** Number of the first invalid row; one past the last if rows are missing at the end. */
  readonly brokenAt?: number
  readonly detail?: string
}

/** Trust anchors outside of the database. Without them only inconsistencies within the chain are detected. */
export interface JournalTrust {
  readonly seal: JournalSeal
  readonly anchors: Pick<JournalAnchors, 'read'>
  /**
   * Whether the head may come from a release without seals: only if this home had no secret in its file yet. The
   * database alone cannot decide that, because an attacker who writes to it can remove a seal.
   */
  readonly bareHead: boolean
}

interface Place {
  readonly seq: number
  readonly hash: string
}

/**
 * Verifies the chain: detects a changed, removed (also at the end), inserted or swapped row, and, with `trust`, a
 * chain that was rebuilt. `latest` begins at the last checkpoint, for a fast start.
 */
export function verifyJournal(
  database: Database,
  trust: JournalTrust | null = null,
  from: 'base' | 'latest' = 'base',
): JournalVerdict {
  const checkpoints = readCheckpoints(database)
  const forged = trust && forgedCheckpoint(checkpoints, trust.seal)
  if (forged) return broken(0, forged.seq, 'a checkpoint was not signed with the secret of this mesh')
  const base = baseOf(checkpoints)
  const anchors = trust ? readAnchors(trust) : []
  if (anchors === null) return broken(0, base?.seq ?? 0, 'a line of data/journal-anchors.jsonl was changed')
  if (trust && checkpoints.length > 0 && anchors.length === 0) {
    return broken(0, base?.seq ?? 0, 'data/journal-anchors.jsonl is missing')
  }
  const began = from === 'latest' ? (checkpoints.at(-1) ?? null) : base
  const start = began ?? { seq: 0, hash: genesisHash }
  const firstFault = faultAtStart(database, began, base)
  if (firstFault) return broken(0, start.seq, firstFault)
  const rewritten =
    from === 'base' && base?.kind === 'accepted' && faultOfAccepted(database, base, checkpoints)
  if (rewritten) return broken(0, rewritten.seq, rewritten.detail)
  const fixed = new Map([...checkpoints, ...anchors].map(({ seq, hash }) => [seq, hash]))
  const walked = walkChain(database, start, { until: Number.POSITIVE_INFINITY, fixed })
  if (walked.fault) return broken(walked.rows, walked.fault.seq, walked.fault.detail)
  const ending = faultAtEnd(database, walked.last, { trust, checkpoints, anchors })
  if (ending) return broken(walked.rows, ending.seq, ending.detail)
  return {
    ok: true,
    rows: walked.rows,
    ...(start.seq === 0 ? {} : { after: start.seq }),
    ...acceptanceOf(database, base),
  }
}

/** Describes where the chain is broken and how; null for a valid chain. Pure. */
export function faultWords({
  ok,
  brokenAt = 0,
  detail = 'the chain is broken',
}: JournalVerdict): string | null {
  return ok ? null : `row ${brokenAt}: ${detail}`
}

/** Reads the acceptance from the checkpoint's row, whose hash was checked before. */
function acceptanceOf(database: Database, base: Checkpoint | null): Pick<JournalVerdict, 'accepted'> {
  if (base?.kind !== 'accepted') return {}
  const row = readJournal(database, { after: base.seq - 1, limit: 1 })[0]
  if (!row) return {}
  const was = row.detail['broken']
  return {
    accepted: { by: row.actor, at: row.at, was: typeof was === 'string' ? was : 'no reason was recorded' },
  }
}

/** Walks the rows after `start`, to `until` or the end; stops at the first invalid one. */
export function walkChain(
  database: Database,
  start: Place,
  { until, fixed }: { readonly until: number; readonly fixed: ReadonlyMap<number, string> },
): { rows: number; last: Place; fault: { seq: number; detail: string } | null } {
  let last = start
  let rows = 0
  for (;;) {
    const page = rowsAfter(database, last.seq, pageRows)
    for (const raw of page) {
      const parsed = linkSchema.safeParse(raw)
      if (!parsed.success)
        return { rows, last, fault: { seq: last.seq + 1, detail: 'the row is not readable' } }
      const row = parsed.data
      if (row.seq > until) return { rows, last, fault: null }
      const detail =
        faultOf(row, last) ?? (isOther(fixed, row) ? 'the row differs from its checkpoint' : null)
      if (detail) return { rows, last, fault: { seq: row.seq, detail } }
      last = { seq: row.seq, hash: row.hash }
      rows++
    }
    if (page.length < pageRows) return { rows, last, fault: null }
  }
}

function isOther(fixed: ReadonlyMap<number, string>, { seq, hash }: Place): boolean {
  const expected = fixed.get(seq)
  return expected !== undefined && expected !== hash
}

function faultOf(row: z.infer<typeof linkSchema>, previous: Place): string | null {
  if (row.seq !== previous.seq + 1) return `row ${previous.seq + 1} is missing`
  if (row.previous_hash !== previous.hash)
    return 'the row does not continue the hash chain of the previous row'
  if (chainHash(previous.hash, row) !== row.hash) return 'the row was changed'
  return null
}

/** Checks the start: the row of the checkpoint exists, and no row is before the first. */
function faultAtStart(database: Database, began: Checkpoint | null, base: Checkpoint | null): string | null {
  const first = base?.kind === 'pruned' ? base.seq + 1 : 1
  const stray = database.prepare('SELECT count(*) AS count FROM journal WHERE seq < ?').get(first)
  // An accepted chain may begin in any way.
  if (base?.kind !== 'accepted' && Number(stray?.['count']) > 0) return 'a row exists before the first'
  for (const point of new Set([base, began])) {
    const fault = point && point.kind !== 'pruned' ? faultOfCheckpoint(database, point) : null
    if (fault) return fault
  }
  return null
}

/** Checks that the row of a checkpoint exists and is unchanged. */
function faultOfCheckpoint(database: Database, { seq, hash }: Checkpoint): string | null {
  const kept = linkSchema.safeParse(rowsAfter(database, seq - 1, 1)[0]).data
  if (kept?.seq !== seq || kept.hash !== hash) return 'the row differs from its checkpoint'
  return chainHash(kept.previous_hash, kept) === hash ? null : 'the row was changed'
}

function faultAtEnd(
  database: Database,
  last: Place,
  known: {
    readonly trust: JournalTrust | null
    readonly checkpoints: readonly Checkpoint[]
    readonly anchors: readonly Checkpoint[]
  },
): { seq: number; detail: string } | null {
  const { trust, checkpoints, anchors } = known
  const head = readHead(database)
  const anchored = Math.max(0, ...anchors.map(({ seq }) => seq))
  if (anchored > last.seq) {
    return {
      seq: last.seq + 1,
      detail: `rows are missing at the end: data/journal-anchors.jsonl names row ${anchored}`,
    }
  }
  if (!head) return last.seq === 0 ? null : { seq: last.seq, detail: 'the record of the last row is missing' }
  if (head.seq > last.seq) {
    return { seq: last.seq + 1, detail: `rows are missing at the end: ${head.count} rows were written` }
  }
  if (head.seq !== last.seq || head.count !== last.seq || head.hash !== last.hash) {
    return { seq: last.seq, detail: 'the last row is not the one that the mesh wrote' }
  }
  const isFirst = checkpoints.length === 0 && anchors.length === 0
  const mayBeBare = trust?.bareHead === true && isFirst && head.seal === ''
  if (trust && !mayBeBare && head.seal !== trust.seal(headText(head))) {
    return { seq: last.seq, detail: 'the record of the last row was not signed with the secret of this mesh' }
  }
  return null
}

function forgedCheckpoint(checkpoints: readonly Checkpoint[], seal: JournalSeal): Checkpoint | null {
  return checkpoints.find((checkpoint) => checkpoint.seal !== seal(checkpointText(checkpoint))) ?? null
}

/**
 * Reads anchors from the last acceptance on: before it, lines of any kind and of another secret may exist. Null if a
 * later line was not written by this mesh.
 */
function readAnchors({ anchors, seal }: JournalTrust): readonly Checkpoint[] | null {
  const lines = anchors.read()
  const isOurs = (anchor: Checkpoint | null): anchor is Checkpoint =>
    anchor !== null && anchor.seal === seal(checkpointText(anchor))
  const accepted = lines.findLastIndex((anchor) => isOurs(anchor) && anchor.kind === 'accepted')
  const read = lines.slice(Math.max(accepted, 0))
  return read.every(isOurs) ? read : null
}

function broken(rows: number, brokenAt: number, detail: string): JournalVerdict {
  return { ok: false, rows, brokenAt, detail }
}
