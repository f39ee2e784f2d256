import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SkillVerdict } from './check-skill.ts'

/** A source is small and honest ones take milliseconds; one that holds the thread for longer, milliseconds, was made to. */
const checkMaxMs = 5_000
/** Heap of the thread, MB: a source has ten thousand characters. */
const heapMaxMb = 128

export interface CheckThread {
  /** The verdict; null where the source took more time or memory than one may. Rejects where the thread failed by itself. */
  check(source: string): Promise<SkillVerdict | null>
  end(): Promise<unknown>
}

/**
 * Starts a thread that checks sources, each for `maxMs` at most. It keeps no process alive. Throws or rejects where the
 * machine has none to give.
 */
export async function startCheckThread(maxMs: number = checkMaxMs): Promise<CheckThread> {
  const worker = new Worker(new URL('./check-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  })
  worker.unref()
  // Loading is the machine's time, and not the source's.
  await once(worker, 'message')
  // It may fail again while it is ended; that error is ignored.
  worker.on('error', () => undefined)
  return { check: (source) => checkIn(worker, source, maxMs), end: () => worker.terminate() }
}

async function checkIn(worker: Worker, source: string, maxMs: number): Promise<SkillVerdict | null> {
  const { promise, resolve, reject } = Promise.withResolvers<SkillVerdict | null>()
  const tooLong = setTimeout(() => resolve(null), maxMs)
  const failed = (error: Error) =>
    'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? resolve(null) : reject(error)
  const ended = (code: number) => reject(new Error(`the thread that checks skills ended with ${code}`))
  worker.once('message', resolve).once('error', failed).once('exit', ended)
  worker.postMessage(source, [])
  try {
    return await promise
  } finally {
    clearTimeout(tooLong)
    worker.off('message', resolve).off('error', failed).off('exit', ended)
  }
}
