import type { Clock } from '@flotilla/protocol/clock'
import type { Retention } from '../config/index.ts'
import type { Database } from '../storage/index.ts'
import type { JournalAnchors } from './journal-anchors.ts'
import type { JournalSeal } from './journal-seal.ts'
import type { Journal } from './journal.ts'
import { acceptedBlockRows, acceptedBlocks, isAsAccepted, otherWords } from './accepted-rows.ts'
import type { AcceptedBlock } from './accepted-rows.ts'
import { genesisHash } from './chain-hash.ts'
import { baseOf, readCheckpoints, sealed, writeCheckpoint } from './journal-checkpoints.ts'
import type { Checkpoint } from './journal-checkpoints.ts'
import { readHead } from './journal-table.ts'
import { linkSchema, rowsAfter } from './read-journal.ts'
import { walkChain } from './verify-journal.ts'
import type { JournalVerdict } from './verify-journal.ts'

export interface PruneDeps {
  readonly database: Database
  readonly journal: Journal
  readonly seal: JournalSeal
  readonly anchors: JournalAnchors
  readonly clock: Clock
  readonly retention: () => Retention
}

/** Rows pruned in one step, so that the event loop is not blocked. */
export const prunedStepRows = acceptedBlockRows
const dayMs = 24 * 3600_000

/** One step of pruning; returns a verdict if the rows to prune fail verification. */
export function pruneJournal(deps: PruneDeps): JournalVerdict | null {
  const { database, clock } = deps
  const head = readHead(database)
  if (!head) return null
  const checkpoints = readCheckpoints(database)
  const base = baseOf(checkpoints)
  const accepted = base?.kind === 'accepted' ? acceptedBlocks(database, base, checkpoints) : null
  if (base && accepted?.[0]) return pruneAccepted(deps, base, accepted[0])
  // An acceptance of an older release lists no rows: the rows before its checkpoint are not verified again.
  const keptSeq = Number(
    database.prepare('SELECT min(seq) AS seq FROM journal').get()?.['seq'] ?? head.seq + 1,
  )
  const through = lastToPrune(deps, keptSeq - 1, head.seq)
  if (through < keptSeq) return null
  const start = base ?? { seq: 0, hash: genesisHash }
  const isUnnamed = base?.kind === 'accepted' && accepted === null
  if (keptSeq < (base?.kind === 'accepted' ? base.seq : start.seq + 1) && !isUnnamed) {
    return { ok: false, rows: 0, brokenAt: keptSeq, detail: 'the audit log has a row before its first row' }
  }
  if (through < start.seq) {
    database.prepare('DELETE FROM journal WHERE seq <= ?').run(through)
    return null
  }
  const walked = walkChain(database, start, { until: through, fixed: new Map() })
  if (walked.fault)
    return { ok: false, rows: walked.rows, brokenAt: walked.fault.seq, detail: walked.fault.detail }
  const made = sealed({ ...walked.last, kind: 'pruned', at: clock.now() }, deps.seal)
  // Writes the anchor file before the transaction: the row was verified, even if the transaction fails.
  deps.anchors.add(made)
  take(deps, made)
  return null
}

/**
 * Prunes the oldest block of accepted rows once all of it may be pruned. The anchor file gets no line: verification
 * begins after the block in any case, and a restored earlier checkpoint would need the pruned rows.
 */
function pruneAccepted(deps: PruneDeps, base: Checkpoint, block: AcceptedBlock): JournalVerdict | null {
  const { database, clock, retention } = deps
  const { keep_days: keepDays, max_rows: rowsMax } = retention()
  const newest = database
    .prepare('SELECT max(at) AS at FROM journal WHERE seq > ? AND seq <= ?')
    .get(block.after, block.last)
  // A forged time in an accepted row keeps it no longer than the acceptance does.
  const at = Math.min(Number(newest?.['at'] ?? 0), base.at)
  const isOver = (readHead(database)?.seq ?? 0) - rowsMax >= block.last
  if (!isOver && at >= clock.now() - keepDays * dayMs) return null
  if (!isAsAccepted(database, block)) {
    return { ok: false, rows: 0, brokenAt: block.last, detail: otherWords(block) }
  }
  const { last: seq, digest: hash } = block
  take(deps, sealed({ seq, hash, kind: 'pruned', at: clock.now() }, deps.seal))
  return null
}

/** Deletes the rows up to a checkpoint in the transaction that writes it. */
function take({ database, journal }: PruneDeps, made: Checkpoint): void {
  database.transaction(() => {
    writeCheckpoint(database, made)
    const { changes } = database.prepare('DELETE FROM journal WHERE seq <= ?').run(made.seq)
    journal.append({
      actor: 'system',
      action: 'journal.pruned',
      subject: 'journal',
      detail: { through: made.seq, rows: Number(changes), hash: made.hash },
    })
  })
}

/** Returns the number of the last row that may be pruned now; `before` if no row may be pruned. */
function lastToPrune({ database, clock, retention }: PruneDeps, before: number, headSeq: number): number {
  const { keep_days: keepDays, max_rows: rowsMax } = retention()
  const oldest = clock.now() - keepDays * dayMs
  let through = before
  for (
    let page = rowsAfter(database, through, 500);
    page.length > 0;
    page = rowsAfter(database, through, 500)
  ) {
    for (const raw of page) {
      const row = linkSchema.safeParse(raw).data
      if (!row || (row.at >= oldest && row.seq > headSeq - rowsMax)) return through
      if (row.seq > before + prunedStepRows) return through
      through = row.seq
    }
  }
  return through
}
