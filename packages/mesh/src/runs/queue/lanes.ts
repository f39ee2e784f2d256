import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../../platform/index.ts'
import type { Hook } from '../../kernel/index.ts'
import type { PerformRun } from '../lifecycle/perform-run.ts'
import type { RecoverRun } from '../lifecycle/recover-runs.ts'
import type { RunTable } from '../lifecycle/run-table.ts'

/** A lane whose run could not be moved rests so long before it looks again, milliseconds. */
const restMs = 1000

/**
 * One run at a time per agent, agents side by side. A lane holds nothing: it takes what the rows say, the running
 * run first, then the queued ones in their order. So nothing is lost with the process.
 */
export interface Lanes {
  /** Begins to listen, and wakes every lane that has work. */
  start(): void
  /** Stops following and resolves when every lane has stopped. Running runs stay running in their containers. */
  close(): Promise<void>
}

export function createLanes(deps: {
  readonly table: RunTable
  readonly performRun: PerformRun
  readonly recover: RecoverRun
  /** Told of agents whose lane may have something to do. What nobody hears is lost: the rows are the truth. */
  readonly notifier: Pick<Hook<string>, 'subscribe'>
  /** Why nothing proactive of the agent begins now, or null. */
  readonly pausedReason: (agentId: string) => string | null
  readonly clock: Clock
  readonly log: Log
}): Lanes {
  const { table, notifier, clock, log } = deps
  const closing = new AbortController()
  const pumps = new Map<string, Promise<void>>()

  const next = (agentId: string) =>
    table.nextQueued(agentId, clock.now(), deps.pausedReason(agentId) !== null)

  /** One step of a lane; false when it has nothing to do now. */
  async function step(agentId: string): Promise<boolean> {
    const live = table.runningOf(agentId)
    const run = live ?? next(agentId)
    if (!run) return false
    if (live) await deps.recover(live, closing.signal)
    else await deps.performRun.perform(run, closing.signal)
    // Still running: nobody answered, or the line broke. It is asked again after a rest.
    if (!closing.signal.aborted && table.runningOf(agentId)) await clock.sleep(restMs, closing.signal)
    return true
  }

  async function pump(agentId: string): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        if (!(await step(agentId))) break
      } catch (error) {
        if (closing.signal.aborted) break
        log.error(
          { agentId, err: error },
          'a step of a lane failed; the lane looks at its rows again in a second',
        )
        await clock.sleep(restMs, closing.signal).catch(() => {})
      }
    }
  }

  function wake(agentId: string): void {
    if (closing.signal.aborted || pumps.has(agentId)) return
    // Not at once: whoever submitted the run may still want to listen to it.
    const pumping = Promise.resolve(agentId)
      .then(pump)
      .then(() => {
        pumps.delete(agentId)
        // A ring between the last check and this line was not heard.
        if (!closing.signal.aborted && hasWork(agentId)) wake(agentId)
      })
    pumps.set(agentId, pumping)
  }

  function hasWork(agentId: string): boolean {
    try {
      return table.runningOf(agentId) !== null || next(agentId) !== null
    } catch {
      return true // Rows that cannot be read now are read again by the lane.
    }
  }

  return {
    start: () => {
      notifier.subscribe(wake)
      for (const agentId of table.agentsWithWork(clock.now())) wake(agentId)
    },
    close: async () => {
      closing.abort()
      await Promise.all(pumps.values())
    },
  }
}
