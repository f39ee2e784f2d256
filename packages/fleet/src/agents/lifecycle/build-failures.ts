import { Problem } from '@flotilla/protocol/problem'
import type { Clock } from '@flotilla/protocol/clock'
import { reasonOf, SandboxError, sandboxWords } from '../../sandbox/index.ts'

/** The pauses before a build is tried again after a failure that may pass, in milliseconds. */
const retryPausesMs = [5_000, 20_000] as const
/** After a failure that may pass, starts with this list fail at once for this time, doubled each time, in milliseconds. */
const firstCooldownMs = 30_000
/** The maximum of this time, in milliseconds. */
const cooldownMaxMs = 10 * 60_000

/** Failures that only the owner can repair. Every other failure, as of the engine or of the network, may pass. */
const permanent: ReadonlySet<string> = new Set([
  'package-missing',
  'lock-differs',
  'packages-refused',
  'packages-failed',
  'own-image-refused',
])

/** Remembers which images could not be made because a registry or the engine did not answer. */
export interface BuildFailures {
  /** Runs a build, and repeats it after a pause if it fails for a reason that may pass. Rejects with the last error. */
  attempt<T>(build: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Throws the Problem `packages-delayed` while a list is cooling down. */
  requireDue(key: string): void
  /**
   * Returns the Problem `packages-unavailable` or `packages-delayed`. The list cools down after a failure that may pass,
   * unless it was being rebuilt: starts then use the image of the stored lock.
   */
  failed(key: string, error: unknown, how: { readonly isRebuild: boolean }): Problem
  /** Forgets the failures of a list that was built. */
  succeeded(key: string): void
}

interface Words {
  readonly detail: string
  /** What the owner can do about it; undefined if nothing is known. */
  readonly repair?: string
}

export function createBuildFailures(clock: Clock): BuildFailures {
  const cooling = new Map<
    string,
    { readonly until: number; readonly pauseMs: number; readonly words: Words }
  >()

  function delayed(words: Words, until: number): Problem {
    const retryAfterSeconds = Math.max(1, Math.ceil((until - clock.now()) / 1000))
    return new Problem('packages-delayed', { ...words, retryAfterSeconds })
  }

  return {
    attempt: async (build, signal) => {
      for (const pauseMs of retryPausesMs) {
        try {
          return await build()
        } catch (error) {
          if (signal.aborted || !mayPass(error) || tookTooLong(error)) throw error
          await clock.sleep(pauseMs, signal)
        }
      }
      return build()
    },
    requireDue: (key) => {
      const found = cooling.get(key)
      if (found !== undefined && clock.now() < found.until) throw delayed(found.words, found.until)
    },
    failed: (key, error, { isRebuild }) => {
      if (error instanceof Problem) return error
      const said = error instanceof SandboxError ? sandboxWords(error) : null
      const words: Words = { ...said, detail: said?.detail || reasonOf(error) }
      if (words.repair !== undefined && !mayPass(error)) return new Problem('packages-unavailable', words)
      if (!mayPass(error)) return new Problem('internal-error', { cause: error })
      if (isRebuild) return delayed(words, clock.now() + firstCooldownMs)
      const before = cooling.get(key)?.pauseMs
      const pauseMs = before === undefined ? firstCooldownMs : Math.min(before * 2, cooldownMaxMs)
      const until = clock.now() + pauseMs
      cooling.set(key, { until, pauseMs, words })
      return delayed(words, until)
    },
    succeeded: (key) => void cooling.delete(key),
  }
}

/** Returns whether a build used all of its time, so that the next attempt should not follow at once. */
function tookTooLong(error: unknown): boolean {
  return error instanceof SandboxError && error.id === 'packages-late'
}

/** Returns whether another attempt can succeed: the engine or a registry did not answer, or not in time. */
function mayPass(error: unknown): boolean {
  if (error instanceof SandboxError) return !permanent.has(error.id)
  if (!(error instanceof Error) || error.name === 'AbortError') return false
  if ('statusCode' in error && typeof error.statusCode === 'number')
    return error.statusCode >= 500 || error.statusCode === 409
  return 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code)
}
