import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'

/** Time between two sweeps, milliseconds. */
export const sweepIntervalMs = 1000

interface Sweep {
  readonly name: string
  readonly run: () => void
}

/** Runs all sweeps repeatedly. If a sweep throws, the error is logged and the other sweeps continue. */
export async function runSweeps(deps: {
  readonly sweeps: readonly Sweep[]
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}): Promise<void> {
  const { sweeps, clock, log, signal } = deps
  while (!signal.aborted) {
    for (const sweep of sweeps) {
      try {
        sweep.run()
      } catch (error) {
        log.error(
          { sweep: sweep.name, err: error },
          'failed to run a sweep of the run ledger; retrying in a second',
        )
      }
    }
    await clock.sleep(sweepIntervalMs, signal).catch(() => {})
  }
}
