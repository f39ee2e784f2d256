import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/protocol/json-log'
import type { RunMesh } from '../mesh/run-mesh.ts'

const renewalTimeoutMs = 10_000

/**
 * Renews the run's lease until the signal aborts (ledger invariant R2), each time after its state was
 * written: for the mesh a renewal means that this process can work. A failed renewal is not retried: the next
 * one follows anyway. A stale fencing token is reported to the run by its mesh client.
 */
export async function keepLease(
  deps: { runId: string; mesh: RunMesh; tryState: () => Promise<void>; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await deps.clock.sleep(wireLimits.leaseRenewalMs, signal)
      await deps.tryState()
      await deps.mesh.call({
        endpoint: meshAgentEndpoints.lease,
        timeoutMs: renewalTimeoutMs,
        waitForMesh: false,
        signal,
      })
    } catch (err) {
      if (signal.aborted || (err instanceof Problem && err.code === 'stale-fence')) return
      deps.log.warn(
        { runId: deps.runId, err },
        'failed to renew the lease of a run; retrying in the next period',
      )
    }
  }
}
