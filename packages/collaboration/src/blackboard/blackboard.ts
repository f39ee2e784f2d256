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
import { removeEntry } from './remove-entry.ts'
import type { RemoveEntry } from './remove-entry.ts'
import { readEntry, readHistory } from './read-entry.ts'
import type { ReadEntry, ReadHistory } from './read-entry.ts'
import { writeEntry } from './write-entry.ts'
import type { WriteEntry } from './write-entry.ts'
import { createVersionTable } from './version-table.ts'

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
