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
  tell(untilMs: number): void
  stop(): Promise<void>
}

/**
 * Ends this process by force once its time is over, whatever keeps its first thread: one that works for long, or that was
 * halted and wakes up too late. Resolves once it watches.
 */
export async function startEndThread(): Promise<EndThread> {
  const cells = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT * 2))
  const order: EndOrder = { cells, watchEveryMs }
  // What its process was started with may be for a first thread alone.
  const worker = new Worker(new URL('end-worker.ts', import.meta.url), { workerData: order, execArgv: [] })
  worker.unref()
  await once(worker, 'message')
  return {
    tell: (untilMs) => void Atomics.store(cells, cell.untilMs, BigInt(Math.floor(untilMs))),
    async stop() {
      Atomics.store(cells, cell.stopped, 1n)
      await worker.terminate()
    },
  }
}
