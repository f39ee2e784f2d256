import type { Clock } from '@flotilla/protocol/clock'

/** A comment that server-sent event readers skip. */
const comment = new TextEncoder().encode(': keep-alive\n\n')

/**
 * The same chunks, with a comment whenever the source has been silent for `intervalMs`, so that nobody on the way
 * takes the connection for dead. One timer per interval, however many chunks pass.
 */
export async function* withKeepAlive(
  source: AsyncIterable<Uint8Array>,
  rules: {
    readonly clock: Clock
    readonly intervalMs: number
    /** Called when the reader is through with it, at the end or earlier: whatever the source waits for must give up. */
    readonly onLeave: () => void
  },
): AsyncGenerator<Uint8Array> {
  const { clock, intervalMs } = rules
  const stopping = new AbortController()
  const iterator = source[Symbol.asyncIterator]()
  let lastAt = clock.now()
  let bell = ring(clock, intervalMs, stopping.signal)
  try {
    let pending = iterator.next()
    for (;;) {
      const won = await Promise.race([pending, bell])
      if (won === 'silent') {
        const silentMs = clock.now() - lastAt
        if (silentMs >= intervalMs) {
          yield comment
          lastAt = clock.now()
        }
        bell = ring(clock, Math.max(1, intervalMs - (clock.now() - lastAt)), stopping.signal)
        continue
      }
      if (won.done === true) return
      lastAt = clock.now()
      yield won.value
      pending = iterator.next()
    }
  } finally {
    stopping.abort()
    rules.onLeave()
    await iterator.return?.()
  }
}

async function ring(clock: Clock, ms: number, signal: AbortSignal): Promise<'silent'> {
  await clock.sleep(ms, signal).catch(() => {})
  return 'silent'
}
