import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { storageFaultOf } from '@flotilla/foundation/storage'
import type { Log } from '@flotilla/foundation/platform'
import type { RunTicket } from '@flotilla/identity/access'

/**
 * Renews a run's lease while one of its calls is open or its agent is starting (R2). Returns the function that ends
 * the renewal.
 */
export type HoldLease = (run: HeldRun | null) => () => void

type HeldRun = Pick<RunTicket, 'runId' | 'fence'>

interface Held {
  readonly run: HeldRun
  calls: number
}

/**
 * `renew` is called at least as often as an agent would call it; when it throws, for example because the run has
 * ended, renewal stops. One timer serves all open calls. It runs until one interval after the last call, or until
 * `stopped` fires.
 */
export function createHoldLease(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly renew: (run: HeldRun) => void
  readonly stopped?: AbortSignal
}): HoldLease {
  const held = new Map<string, Held>()
  let isRenewing = false

  async function keepRenewing(): Promise<void> {
    isRenewing = true
    try {
      while (held.size > 0) {
        await deps.clock.sleep(wireLimits.leaseRenewalMs, deps.stopped)
        for (const [key, { run }] of held) renewOne(key, run)
      }
    } catch {
      // Only `stopped` aborts the sleep, and no call is open by then.
    } finally {
      isRenewing = false
    }
  }

  function renewOne(key: string, run: HeldRun): void {
    try {
      deps.renew(run)
    } catch (error) {
      // After a disk fault the next renewal may succeed.
      if (storageFaultOf(error) !== null) return
      held.delete(key)
      deps.log.warn(
        { runId: run.runId, err: error },
        'failed to renew the lease of a run that waits for an open call or for its agent to start; gave up renewing it',
      )
    }
  }

  return (run) => {
    if (run === null) return () => {}
    const key = `${run.runId} ${run.fence}`
    let own = held.get(key)
    if (!own) held.set(key, (own = { run, calls: 0 }))
    own.calls++
    if (!isRenewing) void keepRenewing()
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      own.calls--
      if (own.calls === 0 && held.get(key) === own) held.delete(key)
    }
  }
}
