import type { Clock } from '@flotilla/protocol/clock'
import type { DataReading } from './sandbox-runtime.ts'

/** What an agent does is held for so long at most: its lease is 60 s, and its asker waits. */
const holdMaxMs = 30_000

/** Reads `tar` while `hold` holds; `release` is called once, at the end, at the bound, or where the reader leaves. */
export function readWhileHeld(options: {
  readonly tar: AsyncIterable<Uint8Array>
  /** False where it could not be held. */
  readonly isHeld: boolean
  readonly release: () => Promise<void>
  /** Once nothing is read any more. */
  readonly close: () => Promise<void>
  readonly clock: Clock
}): DataReading {
  let held = options.isHeld
  let released = false
  const ended = new AbortController()

  async function release(): Promise<void> {
    if (released) return
    released = true
    if (options.isHeld) await options.release()
  }

  async function* reading(): AsyncGenerator<Uint8Array> {
    const bound = options.clock.sleep(holdMaxMs, ended.signal).then(
      async () => {
        held = false
        await release()
      },
      () => {},
    )
    try {
      yield* options.tar
    } finally {
      ended.abort()
      await bound
      await release()
      await options.close()
    }
  }

  return { tar: reading(), held: () => held }
}
