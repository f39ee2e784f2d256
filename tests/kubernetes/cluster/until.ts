import { setTimeout as delay } from 'node:timers/promises'

const askEveryMs = 100

/** Resolves once `holds` gives true; what it throws counts as false, and stands in the error of a wait that was in vain. */
export async function until(holds: () => Promise<boolean>, boundMs: number, what: string): Promise<void> {
  const deadline = AbortSignal.timeout(boundMs)
  let last: unknown
  while (!deadline.aborted) {
    try {
      if (await holds()) return
      last = undefined
    } catch (error) {
      last = error
    }
    await delay(askEveryMs)
  }
  throw new Error(`not within ${boundMs} ms: ${what}`, { cause: last })
}
