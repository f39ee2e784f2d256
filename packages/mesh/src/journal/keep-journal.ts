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
 * Looks after the journal while the mesh runs.
 *
 * 1. What was found whole gets a checkpoint, sealed and told to a file outside of the database: at start, every hour and
 *    at the end. So a start reads only what came after the last one.
 * 2. Nothing is pruned that was not found whole; a sealed checkpoint stays in its place.
 * 3. A chain that is broken is told once, in its own next row too, and is never covered up by a checkpoint; the mesh
 *    goes on. A person who has looked at it may accept it.
 */
export interface JournalKeeper {
  /** At start, from the last checkpoint on, and once more when the start is told: then a first home has its anchor. */
  verify(): void
  /** What does not hold, until a person accepts it; else null. */
  broken(): string | null
  /** Once a minute: verifies when an hour has passed, and prunes what is over its time or number. */
  maintain(): void
  /** All that is kept, however long it takes; what does not hold is broken from then on. */
  verifyWhole(): JournalVerdict
  /**
   * A person goes on with the chain as it stands; `actor` is journalled, with what was broken, which it gives back. Looks
   * at the whole chain where nothing is known to be broken, and does nothing where nothing is (null). `why` accepts it
   * in any case.
   */
  accept(actor: string, why?: string): string | null
  /** At the end, before the database closes. */
  close(): void
}

export interface JournalKeeperDeps extends PruneDeps {
  readonly bareHead: boolean
  readonly onBroken: (detail: string) => void
}

const verifyEveryMs = 3600_000

export function createJournalKeeper(deps: JournalKeeperDeps): JournalKeeper {
  const { database, clock } = deps
  let broken: string | null = null
  let verifiedAt = 0

  function verifyLatest(): void {
    if (broken !== null) return
    verifiedAt = clock.now()
    // One transaction: nobody puts another head there between the check of the chain and the seal on its end.
    const { verdict, head } = database.transaction(() => {
      const found = verifyJournal(database, deps, 'latest')
      return { verdict: found, head: found.ok ? endToAnchor(deps) : null }
    })
    if (!verdict.ok) tell(verdict)
    else if (head) place(deps, 'verified', head)
  }

  function verifyWhole(): JournalVerdict {
    const verdict = verifyJournal(database, deps)
    if (!verdict.ok) tell(verdict)
    return verdict
  }

  function tell(verdict: JournalVerdict): void {
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
      if (verdict) tell(verdict)
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

/** The end of what was just verified; null where that has a checkpoint. */
function endToAnchor({ database, seal }: JournalKeeperDeps): JournalHead | null {
  const head = readHead(database)
  const last = readCheckpoints(database).at(-1)
  if (!head || last?.seq === head.seq) return null
  // A head of an older release gets its seal.
  if (head.seal === '') writeHead(database, head, seal)
  return head
}

/**
 * At the head that was found or written in the transaction before, whatever stands there now. Outside first: the row is
 * on the disk already, and the other way round a crash in between would look like a file that somebody took away.
 */
function place(deps: JournalKeeperDeps, kind: Checkpoint['kind'], head: JournalHead): void {
  const made = sealed({ seq: head.seq, hash: head.hash, kind, at: deps.clock.now() }, deps.seal)
  deps.anchors.add(made)
  deps.database.transaction(() => writeCheckpoint(deps.database, made))
}

/**
 * A head that is gone or was set back would let no row be appended any more. Without a seal, so that the journal is as
 * broken in every later life, until a person accepts it.
 */
function mendHead({ database }: JournalKeeperDeps): void {
  const last = database.prepare('SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1').get()
  const head = readHead(database)
  if (!last || (head && head.seq >= Number(last['seq']))) return
  const seq = Number(last['seq'])
  writeHead(database, { seq, count: seq, hash: String(last['hash']) }, undefined)
}

/** A head that a person accepts is sealed; one whose count is not its number would not fit any row that follows it. */
function sealHead({ database, seal }: JournalKeeperDeps): void {
  const head = readHead(database)
  if (head) writeHead(database, { ...head, count: head.seq }, seal)
}
