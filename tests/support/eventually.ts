import { setTimeout as sleep } from 'node:timers/promises'
import { patient } from './patience.ts'

const pollAfterMs = 40
const pollEveryMaxMs = 1000
/** The longer a test has waited, the longer the pause between two checks, so that checks take little CPU time. */
const shareOfWait = 8

/**
 * Repeats the question until the answer is not null, undefined or false; throws with the label at the deadline.
 * `boundMs` is meant for an idle machine, and is multiplied by `patience`.
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
