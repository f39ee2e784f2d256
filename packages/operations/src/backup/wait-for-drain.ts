import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Resolves once a stream takes more, has closed, or `orElse` has settled; leaves no listener behind. */
export async function waitForDrain(stream: Writable, orElse?: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  const settled = orElse === undefined ? [] : [orElse]
  const waits = [once(stream, 'drain', { signal }), once(stream, 'close', { signal })]
  // The `finally` below aborts the pending waits; their rejections are ignored.
  for (const wait of waits) wait.catch(() => {})
  try {
    await Promise.race([...waits, ...settled])
  } finally {
    over.abort()
  }
}
