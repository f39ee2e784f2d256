import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import type { Caller } from '../../access/index.ts'
import type { ReadEntry } from './read-entry.ts'
import type { EntryVersion, VersionTable } from './version-table.ts'

export interface EntryHistory {
  readonly entry: BlackboardEntry
  /** Newest first. */
  readonly versions: readonly EntryVersion[]
}

/** Who may read an entry may read what stood there before. Problem `not-found`, as of reading it. */
export type ReadHistory = (caller: Caller, key: string) => EntryHistory

export function readHistory(deps: {
  readonly read: ReadEntry
  readonly versions: Pick<VersionTable, 'of'>
}): ReadHistory {
  return (caller, key) => {
    const entry = deps.read(caller, key)
    return { entry, versions: deps.versions.of(key) }
  }
}
