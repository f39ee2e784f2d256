import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SkillVerdict } from './check-skill.ts'

/** The time limit of one check, in milliseconds: sources are small, and only a hostile one takes longer. */
const checkMaxMs = 5_000
/** The thread's heap in MB, which is ample for a source of ten thousand characters. */
const heapMaxMb = 128

export interface CheckThread {
  /** The verdict; null if the source exceeded the limits of time or memory. Rejects if the thread itself failed. */
  check(source: string): Promise<SkillVerdict | null>
  end(): Promise<unknown>
}

/**
 * Starts a thread that checks sources, each for `maxMs` at most. The thread does not keep the process alive. Throws
 * or rejects if the machine cannot start a thread.
 */
export async function startCheckThread(maxMs: number = checkMaxMs): Promise<CheckThread> {
  const worker = new Worker(new URL('./check-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  })
  worker.unref()
  // The thread's load time does not count against a source.
  await once(worker, 'message')
  // The thread may fail again while it is terminated; that error is ignored.
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
