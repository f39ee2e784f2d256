import { Problem } from '@flotilla/protocol/problem'

/** Runs that this process follows now. Only a lever to stop following: the rows are the truth. */
export interface FollowedRuns {
  /** Runs `work` with a signal that fires with `closing`, or when the run is let go. */
  during<T>(runId: string, closing: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Stops following, if it is followed; the lane then looks at the row. */
  letGo(runId: string): void
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
    letGo: (runId) => controllers.get(runId)?.abort(new Problem('cancelled')),
  }
}
