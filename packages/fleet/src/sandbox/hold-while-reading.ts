import type { Clock } from '@flotilla/protocol/clock'
import type { DataReading } from './sandbox-runtime.ts'

/** The longest freeze of an agent, milliseconds: its run's lease lasts 60 s, and a caller waits for the agent. */
const holdMaxMs = 30_000

/**
 * Reads `tar` while the sandbox is frozen. `release` resumes the sandbox and is called once: when reading ends, at
 * the time limit, or when the reader stops, even before it read anything.
 */
export function readWhileHeld(options: {
  readonly tar: AsyncIterable<Uint8Array>
  /** False if the sandbox could not be frozen. */
  readonly isHeld: boolean
  readonly release: () => Promise<void>
  /** Releases the resources that the reading uses; called once, when the reading ends. */
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
  // `leave` awaits the promise; until then a rejection must not be unhandled.
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
