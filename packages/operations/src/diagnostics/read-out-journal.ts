import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, requireOwner } from '@flotilla/identity/access'
import { cloudEvent, exportJournal, readHead, readJournal } from '@flotilla/foundation/journal'
import type { createJournalKeeper, JournalFilter } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'

/** Reads the audit log for callers that may see it. */
export function createReadOutJournal(deps: {
  readonly guard: Guard
  readonly database: Database
  /** Writes all costs until now to the audit log. */
  readonly journalSpend: () => void
  readonly homeId: string
  readonly journalKeeper: Pick<ReturnType<typeof createJournalKeeper>, 'accept' | 'verifyWhole'>
}) {
  const { guard, database, journalSpend, homeId, journalKeeper } = deps

  async function* lines(filter: JournalFilter, format: string, signal: AbortSignal): AsyncGenerator<string> {
    for await (const row of exportJournal(database, filter, signal)) {
      yield `${JSON.stringify(format === 'rows' ? row : cloudEvent(row, homeId))}\n`
    }
  }

  function verified() {
    const { ok, rows, detail } = journalKeeper.verifyWhole()
    return { ok, rows, ...(detail === undefined ? {} : { detail }) }
  }

  return {
    /** One JSON value per line, including its line break. Allowed for the owner only. */
    exportLines: (
      caller: Caller,
      { format, ...filter }: JournalFilter & { readonly format: string },
      signal: AbortSignal,
    ): AsyncIterable<string> => {
      requireOwner(caller, 'read the journal')
      guard(caller, { do: 'view-fleet' })
      journalSpend()
      return lines(filter, format, signal)
    },
    accept: (caller: Caller) => {
      requireOwner(caller, 'accept a broken journal')
      guard(caller, { do: 'manage-fleet' })
      if (caller.kind !== 'human')
        throw new Problem('denied', { detail: 'only a person accepts a broken journal' })
      return { accepted: journalKeeper.accept(actorOf(caller)) }
    },
    /** Verifies the audit log, like `verify`, for a person. */
    verifyForPerson: (caller: Caller) => {
      requireOwner(caller, 'read the journal')
      guard(caller, { do: 'view-fleet' })
      return verified()
    },
    verify: (caller: Caller) => {
      guard(caller, { do: 'view-fleet' })
      return verified()
    },
    /** The newest rows of the audit log, or those after a given row. */
    audit: (
      caller: Caller,
      { after, limit }: { readonly after?: number | undefined; readonly limit: number },
    ) => {
      guard(caller, { do: 'view-fleet' })
      const from = after ?? Math.max(0, (readHead(database)?.seq ?? 0) - limit)
      const rows = readJournal(database, { after: from, limit })
      return rows.map(({ seq, at, actor, action, subject, detail }) => ({
        seq,
        at,
        actor,
        action,
        subject,
        detail,
      }))
    },
  }
}

export type ReadOutJournal = ReturnType<typeof createReadOutJournal>
