import type { Clock } from '@flotilla/protocol/clock'
import type { AgentConnections } from '@flotilla/fleet/agents'
import type { Log } from '@flotilla/foundation/platform'
import type { SettleRun } from '../ledger/change-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import { failedOutcome, withInterim } from '../ledger/run-record.ts'
import type { Outbox } from '../ledger/outbox.ts'
import type { RunTable } from '../ledger/run-table.ts'
import { turnTimeoutSeconds } from './give-work.ts'
import { runLimits } from '../run-limits.ts'

/** Maximum duration of a turn, milliseconds. Longer than the agent's own limit, so the agent ends its turn first. */
export const turnMaxMs = (turnTimeoutSeconds + 600) * 1000
/** How long an outcome waits to be read by the person who started the run, milliseconds. */
const unreadMaxMs = 600_000

/** Ends runs that waited or worked for too long (R6); callers are notified as for every end. */
export function createExpireRuns(deps: {
  readonly table: RunTable
  readonly settle: SettleRun
  readonly followed: FollowedRuns
  readonly connections: Pick<AgentConnections, 'giveUp'>
  readonly outbox: Outbox
  /** Returns why the agent may not start proactive work now, or null. */
  readonly pausedReason: (agentId: string) => string | null
  readonly clock: Clock
  readonly log: Log
}): () => void {
  const { table, settle, followed, outbox, clock } = deps
  /** Terminates an agent that still works this long after its own limit: its loop hangs. */
  function giveUp(agentId: string): void {
    const reason = `the agent worked on one turn for ${turnMaxMs / 1000} s, longer than its limit`
    deps.connections.giveUp(agentId, reason).catch((err: unknown) => {
      deps.log.error(
        { agentId, err },
        'failed to stop an agent whose turn exceeded its time limit; the run has ended',
      )
    })
  }

  return () => {
    const now = clock.now()
    for (const run of table.queuedBefore(now - runLimits.queuedMaxMs)) {
      // The run is paused, and its waiting time restarts when the pause ends.
      if (run.proactive && deps.pausedReason(run.agentId) !== null) continue
      const text = withInterim(run, 'The run waited in the queue for 24 hours without starting.')
      settle(run, { status: 'expired', code: 'expired', text })
    }
    for (const run of table.waitingBefore(now - runLimits.waitingMaxMs)) {
      const text = withInterim(run, 'The run waited 7 days for an answer that never came.')
      settle(run, { status: 'expired', code: 'expired', text })
    }
    for (const run of table.turnsBegunBefore(now - turnMaxMs)) {
      settle(run, failedOutcome(run, 'upstream-timeout', 'The agent worked on this turn for too long.'))
      followed.stopFollowing(run.id)
      giveUp(run.agentId)
    }
    outbox.giveUpBefore(now - unreadMaxMs)
  }
}
