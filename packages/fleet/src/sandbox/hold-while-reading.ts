import type { Clock } from '@flotilla/protocol/clock'
import type { DataReading } from './sandbox-runtime.ts'

/** The longest time for which an agent is frozen: its lease is 60 s, and its caller waits. */
const holdMaxMs = 30_000

/**
 * Reads `tar` while the sandbox is frozen. `release` is called once: at the end, at the limit, or when the reader
 * stops, even before it has begun.
 */
export function readWhileHeld(options: {
  readonly tar: AsyncIterable<Uint8Array>
  /** False if the sandbox could not be frozen. */
  readonly isHeld: boolean
  readonly release: () => Promise<void>
  /** Releases the resources of the reading; called once, at its end. */
  readonly close: () => Promise<void>
  readonly clock: Clock
}): DataReading {
  let held = options.isHeld
  let released: Promise<void> | null = null
  let left: Promise<void> | null = null
  const ended = new AbortController()

  const release = (): Promise<void> => (released ??= options.isHeld ? options.release() : Promise.resolve())
  const bound = options.clock.sleep(holdMaxMs, ended.signal).then(
    async () => {
      held = false
      await release()
    },
    () => {},
  )
  // The promise is awaited by `leave`; until then a rejection must not be unhandled.
  bound.catch(() => {})

  const leave = (): Promise<void> =>
    (left ??= (async () => {
      ended.abort()
      try {
        await bound
        await release()
      } finally {
        await options.close()
      }
    })())

  async function* reading(): AsyncGenerator<Uint8Array> {
    try {
      yield* options.tar
    } finally {
      await leave()
    }
  }

  return { tar: reading(), held: () => held, leave }
}
