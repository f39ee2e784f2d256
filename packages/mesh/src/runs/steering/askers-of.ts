import type { Origin } from '@flotilla/protocol/origin'
import type { RunTable } from '../lifecycle/run-table.ts'
import type { SteerTable } from './steer-table.ts'

/** Runs that are looked at for one question. What comes of more than that is nobody's in particular. */
const checkedMax = 200
const nobody: Origin = { kind: 'system', channel: 'mesh' }

/**
 * Whose words set the run going or were said to it, near or far above: whoever began the first of its chain, people who
 * set one of it going again, and whoever steered one, whether that was read or not. A steer of an agent is of those
 * that set that agent's run going. People who are no owners and spoke in a run's conversation are among them for as long
 * as the rows of that are kept: the run reads their words.
 */
export function askersOf(
  rows: {
    readonly table: Pick<RunTable, 'chainOf' | 'strangersIn'>
    readonly steers: Pick<SteerTable, 'saidTo'>
  },
  runId: string,
): readonly Origin[] {
  const askers: Origin[] = []
  const seen = new Set<string>()
  const ahead = [runId]
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    for (const run of rows.table.chainOf(next)) {
      if (seen.has(run.id)) break
      if (seen.size >= checkedMax) return [...askers, nobody]
      seen.add(run.id)
      if (run.parentId === null || run.origin.kind === 'human') askers.push(run.origin)
      // A task, and a heartbeat, have a conversation in which nobody else begins a run.
      if (run.input.kind === 'chat') askers.push(...rows.table.strangersIn(run.agentId, run.input.session))
      for (const { parentRunId, origin } of rows.steers.saidTo(run.id)) {
        if (parentRunId === null) askers.push(origin)
        else ahead.push(parentRunId)
      }
    }
  }
  return askers
}
