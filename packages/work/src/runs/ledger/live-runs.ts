import { Problem } from '@flotilla/protocol/problem'
import type { RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'
import type { RunCap, RunTicket } from '@flotilla/identity/access'

/** Checks that a caller belongs to the run that is now running in a lane (R3). */
export interface LiveRuns {
  /** Returns the ticket of a run. Problem `stale-fence` unless the run runs under exactly that fencing token. */
  ticketOf(runId: string, fence: number): RunTicket
  /** Returns the agent's running run, for programs without a fencing token; null when the agent is idle. */
  liveRunOf(agentId: string): RunTicket | null
}

/** Maximum number of cached tickets; an agent needs one while its run executes. */
const ticketsMax = 1000

/**
 * A ticket never changes under one fencing token, so it is read once and cached; whether its run is live is checked
 * each time.
 */
export function createLiveRuns(
  table: Pick<RunTable, 'chainOf' | 'runningFenceOf' | 'runningMarkOf'>,
): LiveRuns {
  const tickets = new Map<string, RunTicket>()

  function remembered(runId: string, fence: number): RunTicket {
    const known = tickets.get(runId)
    if (known?.fence === fence) return known
    const [run, ...above] = table.chainOf(runId)
    if (!run) throw new Problem('stale-fence')
    if (tickets.size >= ticketsMax) tickets.clear()
    const ticket = ticketFor(run, above)
    tickets.set(runId, ticket)
    return ticket
  }

  function isLive(runId: string, fence: number): boolean {
    const known = tickets.get(runId)
    const live = known ? table.runningMarkOf(known.agentId) : null
    if (live?.id === runId) return live.fence === fence
    return table.runningFenceOf(runId) === fence
  }

  return {
    ticketOf: (runId, fence) => {
      if (!isLive(runId, fence)) throw new Problem('stale-fence')
      return remembered(runId, fence)
    },
    liveRunOf: (agentId) => {
      const live = table.runningMarkOf(agentId)
      return live === null ? null : remembered(live.id, live.fence)
    },
  }
}

/** `above` are its ancestors. */
export function ticketFor(run: RunRecord, above: readonly RunRecord[] = []): RunTicket {
  const { agentId, fence, taskId, origin } = run
  const capsAbove = above.map(capOf).filter((cap) => cap.budgetUsd !== null || cap.budgetTokens !== null)
  return { ...capOf(run), agentId, fence, taskId, origin, ...(capsAbove.length > 0 ? { capsAbove } : {}) }
}

function capOf({ id: runId, budgetUsd, budgetTokens }: RunRecord): RunCap {
  return { runId, budgetUsd, budgetTokens }
}
