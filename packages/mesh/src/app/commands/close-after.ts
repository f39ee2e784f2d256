import type { Log } from '@flotilla/foundation/platform'

/**
 * Does the work and then closes its resources in the given order, even if the work or an earlier close failed. Throws
 * the first error, which is the one that the owner can repair; later errors are logged.
 */
export async function closeAfter<Result>(
  work: () => Promise<Result>,
  closers: readonly (() => Promise<unknown>)[],
  log: Pick<Log, 'error'>,
): Promise<Result> {
  const faults: unknown[] = []
  const done = await settled(work, faults)
  for (const close of closers) await settled(close, faults)
  for (const err of faults.slice(1)) log.error({ err }, 'failed to close a part of the mesh; exiting anyway')
  if (done === null || faults.length > 0) throw faults[0]
  return done.result
}

async function settled<Result>(
  work: () => Promise<Result>,
  faults: unknown[],
): Promise<{ readonly result: Result } | null> {
  try {
    return { result: await work() }
  } catch (error) {
    faults.push(error)
    return null
  }
}
