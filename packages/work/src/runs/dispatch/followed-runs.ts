import { Problem } from '@flotilla/protocol/problem'

/** Runs that this process follows now. It serves only to stop following; the rows hold the state. */
export interface FollowedRuns {
  /** Runs `work` with a signal that fires with `closing`, or when following is stopped. */
  during<T>(runId: string, closing: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Stops following the run, if it is followed; the lane then reads the row again. */
  stopFollowing(runId: string): void
}

export function createFollowedRuns(): FollowedRuns {
  const controllers = new Map<string, AbortController>()
  return {
    during: async (runId, closing, work) => {
      const controller = new AbortController()
      controllers.set(runId, controller)
      try {
        return await work(AbortSignal.any([closing, controller.signal]))
      } finally {
        controllers.delete(runId)
      }
    },
    stopFollowing: (runId) => controllers.get(runId)?.abort(new Problem('cancelled')),
  }
}
