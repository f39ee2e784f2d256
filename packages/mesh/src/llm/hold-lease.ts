import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import type { Log } from '../log.ts'
import type { RunTicket } from '../runs/run-ticket.ts'

/** Keeps a run's lease alive while a call of it is open (ledger invariant R2); returns the way to stop. */
export type HoldLease = (run: RunTicket | null) => () => void

/** `renew` is called as often as an agent would; a throw, as for a run that is over, ends it. */
export function createHoldLease(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly renew: (run: RunTicket) => void
}): HoldLease {
  async function keepRenewing(run: RunTicket, signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await deps.clock.sleep(wireLimits.leaseRenewalMs, signal)
        deps.renew(run)
      }
    } catch (error) {
      if (!signal.aborted)
        deps.log.warn({ runId: run.runId, err: error }, 'lease of an open call not renewed')
    }
  }

  return (run) => {
    if (run === null) return () => {}
    const stopping = new AbortController()
    void keepRenewing(run, stopping.signal)
    return () => stopping.abort()
  }
}
