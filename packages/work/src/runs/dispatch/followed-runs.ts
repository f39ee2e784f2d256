import { Problem } from '@flotilla/protocol/problem'

/** Runs that this process follows now. Used only to stop following; the state of runs is in their rows. */
export interface FollowedRuns {
  /** Runs `work` with a signal that fires when `closing` fires or `stopFollowing` is called. */
  during<T>(runId: string, closing: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Stops following the run, if this process follows it; the lane then reads the row again. */
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
