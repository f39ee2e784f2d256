import { unlessAborted } from '@flotilla/protocol/unless-aborted'
import type { ReportStep } from './report-step.ts'

/** Builds run one after another, in the order of `take`. */
export interface BuildQueue {
  /**
   * Runs `work` after all earlier builds, whose name is reported while this one waits. Rejects with the reason of
   * `signal` as soon as it aborts during the wait; `work` then never begins.
   */
  take<T>(
    build: { readonly name: string; readonly signal: AbortSignal; readonly progress?: ReportStep },
    work: () => Promise<T>,
  ): Promise<T>
  /** Resolves when no build is in progress and none waits. */
  idle(): Promise<void>
}

export function createBuildQueue(): BuildQueue {
  const queued: { readonly name: string; readonly ended: Promise<void> }[] = []

  return {
    take: async ({ name, signal, progress }, work) => {
      signal.throwIfAborted()
      const earlier = [...queued]
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const own = { name, ended }
      queued.push(own)
      try {
        for (const { name: other, ended: until } of earlier) {
          if (!queued.some((one) => one.ended === until)) continue
          progress?.(`Waiting for ${other}`)
          await unlessAborted(until, signal)
        }
        return await work()
      } finally {
        queued.splice(queued.indexOf(own), 1)
        end()
      }
    },
    idle: async () => {
      while (queued.length > 0) await Promise.all(queued.map(({ ended }) => ended))
    },
  }
}
