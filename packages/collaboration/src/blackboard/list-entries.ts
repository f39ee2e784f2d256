import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import type { Clock } from '@flotilla/protocol/clock'
import type { Action, Caller, Decision } from '@flotilla/identity/access'
import type { LoopShare, StepWork } from '@flotilla/foundation/intake'
import type { BlackboardTable } from './blackboard-table.ts'

/** The maximum number of blackboard entries in one list. */
const entriesMax = 1000
/** Limit for all values of one list, in bytes of JSON. */
const valuesMaxBytes = 4 * 1024 * 1024

export interface BlackboardList {
  readonly entries: readonly BlackboardEntry[]
  /** True if more entries exist under the prefix than one list returns; a longer prefix shows them. */
  readonly truncated: boolean
}

export type ListEntries = (caller: Caller, prefix: string) => Promise<BlackboardList>

/**
 * Lists the entries under a prefix that the caller may read, by key; the others are omitted silently. The permission
 * of each entry is checked without an audit record, because a list is not an attempt to read what it omits. The check
 * yields between steps so that other requests are served. Problem `rate-limited` for an agent that has used up its
 * share of the event loop.
 */
export function listEntries(deps: {
  readonly table: BlackboardTable
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly clock: Clock
  readonly loop: Pick<LoopShare, 'inSteps'>
}): ListEntries {
  function* list(caller: Caller, prefix: string): StepWork<BlackboardList> {
    const now = deps.clock.now()
    const entries: BlackboardEntry[] = []
    let sizeBytes = 0
    for (const key of deps.table.keysUnder(prefix, now)) {
      yield
      if (!deps.decide(caller, { do: 'read-blackboard', key }).allowed) continue
      const entry = deps.table.read(key, now)
      if (!entry) continue
      sizeBytes += Buffer.byteLength(JSON.stringify(entry.value))
      if (entries.length >= entriesMax || sizeBytes > valuesMaxBytes) return { entries, truncated: true }
      entries.push(entry)
    }
    return { entries, truncated: false }
  }

  return (caller, prefix) =>
    deps.loop.inSteps(caller.kind === 'agent' ? caller.agentId : null, list(caller, prefix), 'refuse')
}
