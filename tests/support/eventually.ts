import { setTimeout as sleep } from 'node:timers/promises'

const lookEveryMs = 40

/** Asks again until the answer is not null, undefined or false; throws with the label when the bound is reached. */
export async function eventually<T>(
  label: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  boundMs = 30_000,
): Promise<T> {
  const end = Date.now() + boundMs
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`${label}: not within ${boundMs} ms`)
    await sleep(lookEveryMs)
  }
}
