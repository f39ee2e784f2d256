import { setTimeout as delay } from 'node:timers/promises'

const askEveryMs = 100

/**
 * Resolves once `holds` returns true. A rejection counts as false, and its reason is part of the error at the
 * deadline.
 */
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
