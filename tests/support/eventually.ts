import { setTimeout as sleep } from 'node:timers/promises'
import { patient } from './patience.ts'

const lookEveryMs = 40

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
  const end = Date.now() + waitMs
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`${label}: not within ${waitMs} ms`)
    await sleep(lookEveryMs)
  }
}
