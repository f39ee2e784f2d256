import type { Clock } from '@flotilla/protocol/clock'

/** A harness that reports nothing for this time is ended. */
const silenceMaxMs = 60 * 60_000
/** The longest time of one prompt, whatever the harness reports. */
const promptMaxMs = 6 * 60 * 60_000
/** How long a harness may end its turn by itself after its task is closed. */
const completionGraceMs = 20_000
const checkMs = 30_000

export type Stopped<T> =
  | { readonly kind: 'stopped'; readonly reason: T }
  /** The task is closed, and the harness goes on. */
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string }

/** What may end a prompt besides its own answer. */
export interface PromptEnds {
  /** Resolves when the prompt ends, or something ends it. Rejects with the prompt's error or the signal's reason. */
  during<T>(prompt: Promise<T>): Promise<Stopped<T>>
  isPrompting(): boolean
  /** Called for everything that the harness sends. */
  noteActivity(): void
  complete(): void
  /** Ends the prompt, and the run as failed with this code. */
  end(code: string, detail: string): void
  /** Rejects the prompt that is under way: the state of the run cannot be stored. */
  fail(error: unknown): void
  close(): void
}

export function createPromptEnds(clock: Clock, signal: AbortSignal): PromptEnds {
  const over = new AbortController()
  const ended = Promise.withResolvers<Stopped<never>>()
  ended.promise.catch(() => undefined)
  let activeAt = clock.now()
  let isPrompting = false
  const failed = (code: string, detail: string): void => ended.resolve({ kind: 'failed', code, detail })
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, AbortSignal.any([over.signal, signal]))

  const watch = async (until: AbortSignal): Promise<void> => {
    const startedAt = clock.now()
    activeAt = startedAt
    while (!until.aborted) {
      await clock.sleep(checkMs, until)
      const now = clock.now()
      if (now - activeAt >= silenceMaxMs)
        failed('harness-failed', `The harness reported nothing for ${silenceMaxMs / 60_000} minutes.`)
      if (now - startedAt >= promptMaxMs)
        failed('harness-failed', `The harness did not end its turn within ${promptMaxMs / 3_600_000} hours.`)
    }
  }
  return {
    during: async (prompt) => {
      const done = new AbortController()
      const aborted = Promise.withResolvers<never>()
      const onAbort = (): void => aborted.reject(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
      aborted.promise.catch(() => undefined)
      watch(done.signal).catch(() => undefined)
      isPrompting = true
      try {
        const answered = prompt.then((reason) => ({ kind: 'stopped', reason }) as const)
        answered.catch(() => undefined)
        return await Promise.race([answered, ended.promise, aborted.promise])
      } finally {
        isPrompting = false
        done.abort()
        signal.removeEventListener('abort', onAbort)
      }
    },
    isPrompting: () => isPrompting,
    noteActivity: () => {
      activeAt = clock.now()
    },
    complete: () => {
      sleep(completionGraceMs).then(
        () => ended.resolve({ kind: 'completed' }),
        () => undefined,
      )
    },
    end: failed,
    fail: (error) => ended.reject(error),
    close: () => over.abort(),
  }
}
