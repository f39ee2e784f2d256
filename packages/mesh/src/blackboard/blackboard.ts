import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '../events/event-bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../log.ts'
import type { Action, Decision, Guard } from '../policy/action.ts'
import type { Caller } from '../policy/caller.ts'
import type { Database } from '../storage/database.ts'
import { createBlackboardTable } from './blackboard-table.ts'
import { listEntries } from './list-entries.ts'
import type { ListEntries } from './list-entries.ts'
import { promote } from './promote.ts'
import type { Promote } from './promote.ts'
import { readEntry } from './read-entry.ts'
import type { ReadEntry } from './read-entry.ts'
import { writeEntry } from './write-entry.ts'
import type { WriteEntry } from './write-entry.ts'

const sweepIntervalMs = 60_000

export interface Blackboard {
  readonly write: WriteEntry
  readonly read: ReadEntry
  readonly list: ListEntries
  readonly promote: Promote
  /** Deletes rows that expired long enough ago; returns how many. */
  sweep(): number
  /** Sweeps every minute until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Small facts that agents share: JSON under keys, versioned, each key guarded by patterns of the permission record. */
export function createBlackboard(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly journal: Journal
  readonly events: EventBus
}): Blackboard {
  const table = createBlackboardTable(deps.database)
  const write = writeEntry({ ...deps, table })
  const sweep = (): number => table.sweep(deps.clock.now())
  return {
    write,
    read: readEntry({ ...deps, table }),
    list: listEntries({ ...deps, table }),
    promote: promote({ write }),
    sweep,
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(sweepIntervalMs, signal).catch(() => {})
        try {
          if (!signal.aborted) sweep()
        } catch (error) {
          deps.log.error({ err: error }, 'expired entries could not be swept')
        }
      }
    },
  }
}
