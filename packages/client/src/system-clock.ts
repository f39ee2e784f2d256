import type { Clock } from '@flotilla/protocol/clock'

/** The machine's clock, for people's surfaces; anything that waits takes it as an argument. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(asError(signal.reason))
      const onAbort = () => {
        clearTimeout(timer)
        reject(asError(signal?.reason))
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted')
}
