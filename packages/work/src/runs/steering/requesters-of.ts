import type { Origin } from '@flotilla/protocol/origin'
import type { RunTable } from '../ledger/run-table.ts'
import type { SteerTable } from './steer-table.ts'

/** Maximum runs that one query reads. If there are more, `unknownRequester` represents the rest. */
const checkedMax = 200
const unknownRequester: Origin = { kind: 'system', channel: 'mesh' }

/**
 * Returns the origins of all who started or steered the run or an ancestor of it: the origin of the chain's first
 * run, people who resumed a run of the chain, and callers that steered one, even if the steer was not read. A steer
 * of an agent counts as the origins of that agent's run. People who are not owners and wrote in a run's session count
 * as long as their rows exist, because the run reads their messages.
 */
export function requestersOf(
  rows: {
    readonly table: Pick<RunTable, 'chainOf' | 'strangersIn'>
    readonly steers: Pick<SteerTable, 'sentTo'>
  },
  runId: string,
): readonly Origin[] {
  const requesters: Origin[] = []
  const seen = new Set<string>()
  const ahead = [runId]
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    for (const run of rows.table.chainOf(next)) {
      if (seen.has(run.id)) break
      if (seen.size >= checkedMax) return [...requesters, unknownRequester]
      seen.add(run.id)
      if (run.parentId === null || run.origin.kind === 'human') requesters.push(run.origin)
      // Only chats share sessions: no other run can use the session of a task or a heartbeat.
      if (run.input.kind === 'chat')
        requesters.push(...rows.table.strangersIn(run.agentId, run.input.session))
      for (const { parentRunId, origin } of rows.steers.sentTo(run.id)) {
        if (parentRunId === null) requesters.push(origin)
        else ahead.push(parentRunId)
      }
    }
  }
  return requesters
}
