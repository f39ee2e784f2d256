import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { storageFaultOf } from '../storage/index.ts'
import type { Log } from '../platform/index.ts'
import type { RunTicket } from '../access/index.ts'

/** Keeps a run's lease alive while a call of it is open, or its agent is started (R2); returns the way to stop. */
export type HoldLease = (run: HeldRun | null) => () => void

type HeldRun = Pick<RunTicket, 'runId' | 'fence'>

interface Held {
  readonly run: HeldRun
  calls: number
}

/**
 * `renew` is called at least as often as an agent would; a throw, as for a run that is over, ends it. One timer for
 * all open calls: it goes on for one interval after the last of them, or until `stopped`.
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
      // Only `stopped` ends the sleep, and then nothing is open any more.
    } finally {
      isRenewing = false
    }
  }

  function renewOne(key: string, run: HeldRun): void {
    try {
      deps.renew(run)
    } catch (error) {
      // A disk that failed this renewal may take the next one.
      if (storageFaultOf(error) !== null) return
      held.delete(key)
      deps.log.warn(
        { runId: run.runId, err: error },
        'the lease of a run is not renewed any more for an open call or a starting agent, as where the run is over',
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
