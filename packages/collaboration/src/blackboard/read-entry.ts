import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { BlackboardTable } from './blackboard-table.ts'
import type { EntryVersion, VersionTable } from './version-table.ts'

export type ReadEntry = (caller: Caller, key: string) => BlackboardEntry

/** Returns the function that reads an entry. Problem `not-found`, also for an entry that the caller may not read. */
export function readEntry(deps: {
  readonly table: BlackboardTable
  readonly guard: Guard
  readonly clock: Clock
}): ReadEntry {
  return (caller, key) => {
    try {
      deps.guard(caller, { do: 'read-blackboard', key })
    } catch (error) {
      if (error instanceof Problem && error.code === 'denied') throw missing()
      throw error
    }
    const entry = deps.table.read(key, deps.clock.now())
    if (!entry) throw missing()
    return entry
  }
}

export interface EntryHistory {
  readonly entry: BlackboardEntry
  /** Versions, newest first. */
  readonly versions: readonly EntryVersion[]
}

/** Returns an entry's earlier versions, for callers that may read the entry. Problem `not-found` for others. */
export type ReadHistory = (caller: Caller, key: string) => EntryHistory

export function readHistory(
  deps: Parameters<typeof readEntry>[0] & { readonly versions: Pick<VersionTable, 'of'> },
): ReadHistory {
  const read = readEntry(deps)
  return (caller, key) => {
    const entry = read(caller, key)
    return { entry, versions: deps.versions.of(key) }
  }
}

function missing(): Problem {
  return new Problem('not-found', {
    detail: 'the blackboard has no entry with this key, or you may not read it',
  })
}
