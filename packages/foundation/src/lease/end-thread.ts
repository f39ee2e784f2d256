import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { cell } from './end-cells.ts'
import type { EndOrder } from './end-cells.ts'
import { watchEveryMs } from './lease-times.ts'

export interface EndThread {
  /**
   * Sets the end of the process's time, in milliseconds of `steadyMs`. The process is never ended before the first
   * call.
   */
  extend(untilMs: number): void
  stop(): Promise<void>
}

/**
 * Starts a thread that terminates this process once its time is over, even if the main thread is busy or was
 * suspended and resumes too late. Resolves once the thread watches the time.
 */
export async function startEndThread(): Promise<EndThread> {
  const cells = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT * 2))
  const order: EndOrder = { cells, watchEveryMs }
  // The process's own options may be valid only for the main thread.
  const worker = new Worker(new URL('end-worker.ts', import.meta.url), { workerData: order, execArgv: [] })
  worker.unref()
  await once(worker, 'message')
  return {
    extend: (untilMs) => void Atomics.store(cells, cell.untilMs, BigInt(Math.floor(untilMs))),
    async stop() {
      Atomics.store(cells, cell.stopped, 1n)
      await worker.terminate()
    },
  }
}
