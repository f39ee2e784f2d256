import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import type { BlackboardTable } from './blackboard-table.ts'
import type { VersionTable } from './version-table.ts'

/** Deletes an entry, also one below `history/`. Only people may delete. Problems `denied`, `not-found`. */
export type RemoveEntry = (caller: Caller, key: string) => void

export function removeEntry(deps: {
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
