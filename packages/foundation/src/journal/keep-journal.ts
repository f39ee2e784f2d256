import { acceptedDetail } from './accepted-rows.ts'
import { readCheckpoints, sealed, writeCheckpoint } from './journal-checkpoints.ts'
import type { Checkpoint } from './journal-checkpoints.ts'
import { readHead, writeHead } from './journal-table.ts'
import type { JournalHead } from './journal-table.ts'
import { pruneJournal } from './prune-journal.ts'
import type { PruneDeps } from './prune-journal.ts'
import { faultWords, verifyJournal } from './verify-journal.ts'
import type { JournalVerdict } from './verify-journal.ts'

/**
 * Maintains the audit log while the mesh runs.
 *
 * 1. A verified chain gets a checkpoint, sealed and written to a file outside of the database: at start, every hour
 *    and at the end. A start therefore reads only the rows after the last one.
 * 2. Only verified rows are pruned; a sealed checkpoint takes their place.
 * 3. A broken chain is reported once, also in its own next row, and never gets a checkpoint; the mesh continues. A
 *    person who has inspected it may accept it.
 */
export interface JournalKeeper {
  /**
   * At start, verifies from the last checkpoint on, and again once the start is recorded, so that a new home has an
   * anchor.
   */
  verify(): void
  /** The fault of the chain, until a person accepts it; otherwise null. */
  broken(): string | null
  /** Called once a minute: verifies when an hour has passed, and prunes rows beyond the retention. */
  maintain(): void
  /** Verifies everything, however long it takes; a fault is reported from then on. */
  verifyWhole(): JournalVerdict
  /**
   * Accepts the chain in its current state for a person, records `actor` with the break, and returns the break.
   * Verifies the whole chain if no break is known; returns null for an intact chain, unless `why` names a break.
   */
  accept(actor: string, why?: string): string | null
  /** Called at the end, before the database closes. */
  close(): void
}

export interface JournalKeeperDeps extends PruneDeps {
  readonly bareHead: boolean
  readonly onBroken: (detail: string) => void
}

/** How often the running mesh verifies new rows of the audit log, in milliseconds. */
const verifyEveryMs = 3600_000

export function createJournalKeeper(deps: JournalKeeperDeps): JournalKeeper {
  const { database, clock } = deps
  let broken: string | null = null
  let verifiedAt = 0

  function verifyLatest(): void {
    if (broken !== null) return
    verifiedAt = clock.now()
    // One transaction, so that no other process changes the head between the verification and the seal on its end.
    const { verdict, head } = database.transaction(() => {
      const found = verifyJournal(database, deps, 'latest')
      return { verdict: found, head: found.ok ? endToAnchor(deps) : null }
    })
    if (!verdict.ok) recordBroken(verdict)
    else if (head) place(deps, 'verified', head)
  }

  function verifyWhole(): JournalVerdict {
    const verdict = verifyJournal(database, deps)
    if (!verdict.ok) recordBroken(verdict)
    return verdict
  }

  function recordBroken(verdict: JournalVerdict): void {
    if (broken !== null) return
    broken = faultWords(verdict)
    const { detail = '', brokenAt = 0 } = verdict
    database.transaction(() => {
      mendHead(deps)
      deps.journal.append({
        actor: 'system',
        action: 'journal.broken',
        subject: String(brokenAt),
        detail: { detail },
      })
    })
    deps.onBroken(broken ?? detail)
  }

  return {
    verify: verifyLatest,
    broken: () => broken,
    maintain() {
      if (broken !== null) return
      if (clock.now() - verifiedAt >= verifyEveryMs) verifyLatest()
      if (broken !== null) return
      const verdict = pruneJournal(deps)
      if (verdict) recordBroken(verdict)
    },
    verifyWhole,
    accept(actor, why) {
      if (why === undefined && broken === null) verifyWhole()
      const was = why ?? broken
      if (was === null) return null
      const head = database.transaction(() => {
        mendHead(deps)
        sealHead(deps)
        deps.journal.append({
          actor,
          action: 'journal.accepted',
          subject: 'journal',
          detail: { broken: was, ...acceptedDetail(database) },
        })
        return readHead(database)
      })
      if (head) place(deps, 'accepted', head)
      broken = null
      return was
    },
    close: verifyLatest,
  }
}

/** The end of the chain that was just verified; null if it already has a checkpoint. */
function endToAnchor({ database, seal }: JournalKeeperDeps): JournalHead | null {
  const head = readHead(database)
  const last = readCheckpoints(database).at(-1)
  if (!head || last?.seq === head.seq) return null
  // A head of an older release gets its seal.
  if (head.seal === '') writeHead(database, head, seal)
  return head
}

/**
 * Stores a sealed checkpoint on the given head, even if rows were appended since. Writes the anchor file before the
 * table: the row is on the disk already, and in the other order a crash in between would look like a removed file.
 */
function place(deps: JournalKeeperDeps, kind: Checkpoint['kind'], head: JournalHead): void {
  const made = sealed({ seq: head.seq, hash: head.hash, kind, at: deps.clock.now() }, deps.seal)
  deps.anchors.add(made)
  deps.database.transaction(() => writeCheckpoint(deps.database, made))
}

/**
 * A missing or reset head would block new rows. It is repaired without a seal, so that every later process finds the
 * log broken until a person accepts it.
 */
function mendHead({ database }: JournalKeeperDeps): void {
  const last = database.prepare('SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1').get()
  const head = readHead(database)
  if (!last || (head && head.seq >= Number(last['seq']))) return
  const seq = Number(last['seq'])
  writeHead(database, { seq, count: seq, hash: String(last['hash']) }, undefined)
}

/** Seals the head that a person accepts, with its row number as its count, which every later row requires. */
function sealHead({ database, seal }: JournalKeeperDeps): void {
  const head = readHead(database)
  if (head) writeHead(database, { ...head, count: head.seq }, seal)
}
