import { setTimeout as sleep } from 'node:timers/promises'
import { patient } from './patience.ts'

const pollAfterMs = 40
const pollEveryMaxMs = 1000
/** What comes late is looked for the more seldom, so that those who wait leave the machine to those who work. */
const shareOfWait = 8

/**
 * Asks again until the answer is not null, undefined or false; throws with the label when the bound is reached.
 * `boundMs` is as on a quiet machine, and is made as long as this one wants it.
 */
export async function eventually<T>(
  label: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  boundMs = 30_000,
): Promise<T> {
  const waitMs = patient(boundMs)
  const begunMs = Date.now()
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    const waitedMs = Date.now() - begunMs
    if (waitedMs > waitMs) throw new Error(`${label}: not within ${waitMs} ms`)
    await sleep(Math.min(pollEveryMaxMs, Math.max(pollAfterMs, waitedMs / shareOfWait)))
  }
}
