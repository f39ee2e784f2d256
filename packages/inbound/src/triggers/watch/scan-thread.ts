import type { Worker } from 'node:worker_threads'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { ScanFolder } from './scan-folder.ts'
import { gate } from './scan-messages.ts'
import { makePool, scanNext, stopScan } from './scan-pool.ts'
import type { Scan, ScanPool } from './scan-pool.ts'

/** How long the shutdown waits for threads, in milliseconds. */
const endMaxMs = 1000

interface ScanThread {
  readonly scanFolder: ScanFolder
  /** Returns the number of live threads, including hanging threads. */
  readonly threads: () => number
  /** Ends the threads. A scan in progress ends with the result `unreadable`. */
  close(): Promise<void>
}

/**
 * Scans folders on a separate thread with blocking calls. Blocking calls cost a third of
 * asynchronous calls, and the thread keeps the main thread free. One scan runs at a time. A hanging
 * thread is abandoned, although its scan may still finish, and another thread replaces it.
 */
export function createScanThread(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly start?: () => Worker
}): ScanThread {
  const pool = makePool({ ...deps, start: deps.start })
  return {
    threads: () => pool.threads.size,
    scanFolder: (path, request) => scanFolder(pool, path, request),
    close: () => closePool(pool),
  }
}

function scanFolder(
  pool: ScanPool,
  path: string,
  { pattern, each, signal }: Parameters<ScanFolder>[1],
): ReturnType<ScanFolder> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    if (pool.closing.signal.aborted) return resolve({ kind: 'unreadable', reason: 'the mesh is stopping' })
    const numbers = new Int32Array(new SharedArrayBuffer(gate.places * Int32Array.BYTES_PER_ELEMENT))
    const ended = new AbortController()
    const scan: Scan = {
      order: { path, pattern, gate: numbers },
      each,
      hasRoom: true,
      ended,
      over: (end) => {
        ended.abort()
        signal.removeEventListener('abort', stop)
        resolve(end)
      },
    }
    function stop(): void {
      stopScan(scan)
      const at = pool.queue.indexOf(scan)
      if (at !== -1) pool.queue.splice(at, 1)
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', stop, { once: true })
    pool.queue.push(scan)
    scanNext(pool)
  })
}

async function closePool(pool: ScanPool): Promise<void> {
  pool.closing.abort(new Error('closing'))
  const open = [...pool.queue.splice(0), ...[...pool.threads].map(({ scan }) => scan)]
  for (const scan of open) {
    if (!scan) continue
    stopScan(scan)
    scan.over({ kind: 'unreadable', reason: 'the mesh is stopping' })
  }
  const ending = [...pool.threads].map(({ worker }) => worker.terminate())
  pool.threads.clear()
  pool.current = null
  const waited = new AbortController()
  // A hanging thread cannot be terminated, so the shutdown does not wait for it.
  await Promise.race([Promise.all(ending), pool.clock.sleep(endMaxMs, waited.signal).catch(() => {})])
  waited.abort()
}
