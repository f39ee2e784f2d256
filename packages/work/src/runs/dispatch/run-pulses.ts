import type { Clock } from '@flotilla/protocol/clock'
import { runLimits } from '../run-limits.ts'

/**
 * An agent whose loop was silent for this long is terminated, whatever its server reports and whatever else
 * renewed the lease: eight missed heartbeats of the loop, milliseconds.
 */
export const silenceMaxMs = 2 * runLimits.leaseMs

/** A longer gap between two checks shows that the mesh or the machine slept, milliseconds. */
const gapMaxMs = 5000

/** A running run with the fencing token of its attempt. */
interface PulsedRun {
  readonly id: string
  readonly fence: number
}

/**
 * The time since the last heartbeat of each run's agent loop, as observed by the mesh. The agent's process sends a
 * heartbeat with its agent token, after a write to its disk; calls of programs do not count. Kept in memory: after a
 * start of the mesh every agent has the full time again.
 */
export interface RunPulses {
  heartbeat(run: PulsedRun): void
  /** Starts counting now, unless the time of this attempt is already counted. */
  begin(run: PulsedRun): void
  silentMs(run: PulsedRun): number
  /**
   * Adds the time since the last check, and returns the runs that are silent for too long. `fenceOf` is null for a
   * run that no longer runs.
   */
  check(fenceOf: (runId: string) => number | null): readonly PulsedRun[]
}

export function createRunPulses(clock: Clock): RunPulses {
  const pulses = new Map<string, { readonly fence: number; silentMs: number }>()
  let checkedAt = clock.now()
  const counted = ({ id, fence }: PulsedRun) => {
    const known = pulses.get(id)
    return known?.fence === fence ? known : null
  }
  return {
    heartbeat: ({ id, fence }) => void pulses.set(id, { fence, silentMs: 0 }),
    begin: (run) => {
      if (!counted(run)) pulses.set(run.id, { fence: run.fence, silentMs: 0 })
    },
    silentMs: (run) => counted(run)?.silentMs ?? 0,
    check: (fenceOf) => {
      const now = clock.now()
      const passedMs = Math.min(gapMaxMs, Math.max(0, now - checkedAt))
      checkedAt = now
      const silent: PulsedRun[] = []
      for (const [id, pulse] of pulses) {
        if (fenceOf(id) !== pulse.fence) {
          pulses.delete(id)
          continue
        }
        pulse.silentMs += passedMs
        if (pulse.silentMs >= silenceMaxMs) silent.push({ id, fence: pulse.fence })
      }
      return silent
    },
  }
}
