import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '../../access/index.ts'
import type { BlackboardTable } from './blackboard-table.ts'

export type ReadEntry = (caller: Caller, key: string) => BlackboardEntry

/** Problem `not-found`, the same for what does not exist and for what the caller may not read. */
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

function missing(): Problem {
  return new Problem('not-found', { detail: 'there is no such entry, or you may not read it' })
}
