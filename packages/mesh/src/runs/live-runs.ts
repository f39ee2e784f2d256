import { Problem } from '@flotilla/protocol/problem'
import type { RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'
import type { RunTicket } from './run-ticket.ts'

/** Proof of place in a lane (R3). */
export interface LiveRuns {
  /** Problem `stale-fence` unless that run is running under that very fence. */
  ticketOf(runId: string, fence: number): RunTicket
  /** The run that holds the agent's lane, for programs that know no fence; null when it is idle. */
  liveRunOf(agentId: string): RunTicket | null
}

export function createLiveRuns(table: RunTable): LiveRuns {
  return {
    ticketOf: (runId, fence) => {
      const run = table.find(runId)
      if (run?.state !== 'running' || run.fence !== fence) throw new Problem('stale-fence')
      return ticketFor(run)
    },
    liveRunOf: (agentId) => {
      const run = table.runningOf(agentId)
      return run ? ticketFor(run) : null
    },
  }
}

export function ticketFor(run: RunRecord): RunTicket {
  const { id: runId, agentId, fence, taskId, origin, budgetUsd } = run
  return { runId, agentId, fence, taskId, origin, budgetUsd }
}
