import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { PerformRun } from './perform-run.ts'
import type { RecoverRun } from './recover-runs.ts'
import type { RunTable } from '../ledger/run-table.ts'

/** How long a lane waits before it retries a run whose state did not change, milliseconds. */
const restMs = 1000

/**
 * Runs one run at a time for each agent, and agents in parallel. A lane has no state of its own: it reads the rows,
 * the running run first, then the queued runs in order. So nothing is lost when the process ends.
 */
export interface Lanes {
  /** Subscribes to `notifier`, and wakes every lane that has work. */
  start(): void
  /** Stops following runs and resolves when every lane has stopped. Running runs continue in their containers. */
  close(): Promise<void>
}

export function createLanes(deps: {
  readonly table: RunTable
  readonly performRun: PerformRun
  readonly recover: RecoverRun
  /** Publishes agents whose lane may have work. A missed notification is harmless, because lanes read the rows. */
  readonly notifier: Pick<DomainEvent<string>, 'subscribe'>
  /** Returns why the agent may not start proactive work now, or null. */
  readonly pausedReason: (agentId: string) => string | null
  readonly clock: Clock
  readonly log: Log
}): Lanes {
  const { table, notifier, clock, log } = deps
  const closing = new AbortController()
  const pumps = new Map<string, Promise<void>>()

  const next = (agentId: string) =>
    table.nextQueued(agentId, clock.now(), deps.pausedReason(agentId) !== null)

  /** Performs one step of a lane. Returns false when the lane has nothing to do now. */
  async function step(agentId: string): Promise<boolean> {
    const live = table.runningOf(agentId)
    const run = live ?? next(agentId)
    if (!run) return false
    if (live) await deps.recover(live, closing.signal)
    else await deps.performRun.perform(run, closing.signal)
    // The run is still running: its agent did not answer or the connection broke. The lane retries after a wait.
    if (!closing.signal.aborted && table.runningOf(agentId)) await clock.sleep(restMs, closing.signal)
    return true
  }

  async function pump(agentId: string): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        if (!(await step(agentId))) break
      } catch (error) {
        if (closing.signal.aborted) break
        log.error({ agentId, err: error }, 'failed to process a lane; retrying in a second')
        await clock.sleep(restMs, closing.signal).catch(() => {})
      }
    }
  }

  function wake(agentId: string): void {
    if (closing.signal.aborted || pumps.has(agentId)) return
    // The lane starts asynchronously, because the caller that submitted the run may still subscribe to it.
    const pumping = Promise.resolve(agentId)
      .then(pump)
      .then(() => {
        pumps.delete(agentId)
        // The lane missed a notification that came between its last check and this line.
        if (!closing.signal.aborted && hasWork(agentId)) wake(agentId)
      })
    pumps.set(agentId, pumping)
  }

  function hasWork(agentId: string): boolean {
    try {
      return table.runningOf(agentId) !== null || next(agentId) !== null
    } catch {
      return true // The lane retries rows that cannot be read now.
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
