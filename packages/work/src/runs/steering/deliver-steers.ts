import type { Clock } from '@flotilla/protocol/clock'
import type { AgentConnections } from '@flotilla/fleet/agents'
import type { Log } from '@flotilla/foundation/platform'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { SteerTable } from './steer-table.ts'
import { steerMessage } from './steer-view.ts'

/** Wait before a failed delivery to an agent is retried, milliseconds. */
const restMs = 500

/**
 * Sends waiting steers to the agent that works on their run. The rows hold all state, each request that starts or
 * resumes the run carries the steers too, and an agent recognizes a steer by its id. So a failed delivery only makes
 * a steer late, and a repeated one has no effect.
 */
interface DeliverSteers {
  /**
   * Delivers the run's steers until each was delivered once or the run is not running under that fencing token.
   */
  deliver(run: RunRecord): void
  close(): Promise<void>
}

export interface DeliverSteersDeps {
  readonly table: RunTable
  readonly steers: SteerTable
  readonly connections: AgentConnections
  readonly clock: Clock
  readonly log: Log
}

export function createDeliverSteers(deps: DeliverSteersDeps): DeliverSteers {
  const { table, steers, connections, clock, log } = deps
  const closing = new AbortController()
  const under = new Map<string, Promise<void>>()

  async function deliver(run: RunRecord, deliveredIds: Set<string>): Promise<void> {
    const waiting = steers.waitingOf(run.id).filter((steer) => !deliveredIds.has(steer.id))
    try {
      const connection = await connections.connectIfRunning(run.agentId)
      const { id: run_id, fence } = run
      const request = { run_id, fence, steers: waiting.map(steerMessage) }
      if (connection && (await connection.steer(request, closing.signal))) {
        for (const steer of waiting) deliveredIds.add(steer.id)
        return
      }
    } catch (error) {
      log.warn(
        { runId: run.id, agentId: run.agentId, err: error },
        'failed to deliver a steer; retrying, and with the next turn',
      )
    }
    await clock.sleep(restMs, closing.signal)
  }

  function hasMore(run: RunRecord, deliveredIds: ReadonlySet<string>): boolean {
    if (closing.signal.aborted || table.runningFenceOf(run.id) !== run.fence) return false
    return steers.waitingOf(run.id).some((steer) => !deliveredIds.has(steer.id))
  }

  async function pump(run: RunRecord, key: string): Promise<void> {
    const deliveredIds = new Set<string>()
    try {
      while (hasMore(run, deliveredIds)) await deliver(run, deliveredIds)
    } catch (error) {
      if (!closing.signal.aborted)
        log.error(
          { runId: run.id, err: error },
          'failed to deliver steers of a run; the next steer or turn delivers them',
        )
    } finally {
      // Deleted right after the last check, so that a later steer finds no delivery loop and starts one.
      under.delete(key)
    }
  }

  return {
    deliver: (run) => {
      const key = `${run.id} ${run.fence}`
      if (closing.signal.aborted || under.has(key)) return
      under.set(
        key,
        Promise.resolve().then(() => pump(run, key)),
      )
    },
    close: async () => {
      closing.abort()
      await Promise.all(under.values())
    },
  }
}
