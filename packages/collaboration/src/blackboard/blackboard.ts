import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '@flotilla/foundation/events'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { createBlackboardTable } from './blackboard-table.ts'
import { createCrossProjectCounts } from './cross-project-counts.ts'
import type { CrossProjectCounts } from './cross-project-counts.ts'
import { listEntries } from './list-entries.ts'
import type { ListEntries } from './list-entries.ts'
import { promote } from './promote.ts'
import type { Promote } from './promote.ts'
import { readEntry, readHistory } from './read-entry.ts'
import type { ReadEntry, ReadHistory } from './read-entry.ts'
import { writeEntry } from './write-entry.ts'
import type { WriteEntry } from './write-entry.ts'
import { createVersionTable } from './version-table.ts'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '@flotilla/identity/access'
import type { BlackboardTable } from './blackboard-table.ts'
import type { VersionTable } from './version-table.ts'

export interface Blackboard {
  readonly write: WriteEntry
  readonly read: ReadEntry
  readonly history: ReadHistory
  readonly list: ListEntries
  readonly remove: RemoveEntry
  readonly promote: Promote
  /** Counts rejected attempts on other projects' keys. It enforces nothing. */
  readonly crossProject: CrossProjectCounts
  /** Deletes all keys of a project. Joins the caller's transaction. */
  forgetProject(project: string): void
  /** Deletes rows that expired long enough ago and returns their number. */
  sweep(): number
}

/**
 * Creates the blackboard: versioned JSON values that agents share, each key guarded by patterns of permission
 * records.
 */
export function createBlackboard(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly journal: Journal
  readonly events: EventBus
  /** Returns the agent's project; if this function is omitted, no agent belongs to a project. */
  readonly projectOf?: (agentId: string) => string | null
  readonly noteChange?: (entry: BlackboardEntry) => void
  readonly loop: Pick<LoopShare, 'inSteps'>
}): Blackboard {
  const table = createBlackboardTable(deps.database)
  const versions = createVersionTable(deps.database)
  const crossProject = createCrossProjectCounts({ projectOf: deps.projectOf ?? (() => null) })
  const write = writeEntry({ ...deps, table, versions })
  return {
    write,
    read: readEntry({ ...deps, table }),
    history: readHistory({ ...deps, table, versions }),
    crossProject,
    list: listEntries({ ...deps, table }),
    remove: removeEntry({ ...deps, table, versions }),
    promote: promote({ write }),
    forgetProject: (project) => {
      versions.forgetBelow(`projects/${project}`)
      table.removeBelow(`projects/${project}`)
    },
    sweep: () => {
      versions.sweep(deps.clock.now())
      return table.sweep(deps.clock.now())
    },
  }
}

/** Deletes an entry, also one below `history/`. Only people may delete. Problems `denied`, `not-found`. */
type RemoveEntry = (caller: Caller, key: string) => void

function removeEntry(deps: {
  readonly database: Database
  readonly table: BlackboardTable
  readonly versions: Pick<VersionTable, 'forget'>
  readonly guard: Guard
  readonly clock: Clock
  readonly journal: Journal
  readonly events: EventBus
}): RemoveEntry {
  return (caller, key) => {
    deps.guard(caller, { do: 'write-blackboard', key })
    if (caller.kind === 'agent')
      throw new Problem('denied', { detail: 'only people may delete entries of the blackboard' })
    const removed = deps.database.transaction(() => {
      if (!deps.table.remove(key, deps.clock.now())) return false
      deps.versions.forget(key)
      const actor = actorOf(caller)
      deps.journal.append({ actor, action: 'blackboard.deleted', subject: key, detail: {} })
      deps.events.publish({ type: 'blackboard.deleted', key, deleted_by: actor })
      return true
    })
    if (!removed) throw new Problem('not-found', { detail: `the blackboard has no entry ${key}` })
  }
}
