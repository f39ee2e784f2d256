import { Worker } from 'node:worker_threads'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../../platform/index.ts'
import { numbersOfFile } from './read-folder.ts'
import type { FolderPiece } from './read-folder.ts'
import type { ScanEnd, ScanFolder } from './scan-folder.ts'
import { gate } from './scan-messages.ts'
import type { ScanOrder, ScanWord } from './scan-messages.ts'

/** A thread that has given no sign for so long hangs in its folder, milliseconds. Others need not wait for it. */
export const silentMaxMs = 10_000
/** Scans that are long wait for nobody either, milliseconds. */
const busyMaxMs = 60_000
/** Threads that hang in folders; when there are so many, no folder more is looked at. */
export const hangingMax = 4
/** A thread without work ends after so long, milliseconds. */
export const idleMs = 60_000
/** Threads that may die within `deathsMs` milliseconds before no other is begun for a while. */
export const deathsMax = 3
export const deathsMs = 60_000
/** How long an end of threads is waited for, milliseconds. */
const endMaxMs = 1000
/** Heap of a thread, which holds some thousand names, MB. */
const heapMaxMb = 64

interface ScanThread {
  readonly scanFolder: ScanFolder
  /** Threads that live, those that hang included. */
  readonly threads: () => number
  /** Ends them. Scans that are open end as unreadable. */
  close(): Promise<void>
}

interface Scan {
  readonly order: ScanOrder
  readonly each: Parameters<ScanFolder>[1]['each']
  readonly over: (end: ScanEnd) => void
  /** Aborted when the thread has ended it, which nobody may wait for any more. */
  readonly ended: AbortController
  hasRoom: boolean
}

interface Thread {
  readonly worker: Worker
  scan: Scan | null
  beganAt: number
  heardAt: number
}

/**
 * Looks into folders from one thread beside the mesh's, with calls that hold it: they cost a third of those that do not,
 * and the mesh's own thread stays free. One scan at a time. A thread that hangs is left to its folder, whose scan may
 * still end, and another takes its place.
 */
export function createScanThread(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly start?: () => Worker
}): ScanThread {
  const { clock, log } = deps
  const start = deps.start ?? startWorker
  const queue: Scan[] = []
  const all = new Set<Thread>()
  const deaths: number[] = []
  let current: Thread | null = null
  let isClosed = false
  const closing = new AbortController()

  function begin(): Thread {
    const thread: Thread = { worker: start(), scan: null, beganAt: 0, heardAt: clock.now() }
    all.add(thread)
    thread.worker.unref()
    thread.worker.on('message', (word: ScanWord) => hear(thread, word))
    thread.worker.on('error', (error: unknown) => died(thread, error))
    thread.worker.on('exit', () => died(thread, new Error('it ended')))
    return thread
  }

  function hear(thread: Thread, word: ScanWord): void {
    const { scan } = thread
    thread.heardAt = clock.now()
    if (!scan) return
    if (word.kind === 'piece') {
      take(scan, word.piece)
      return
    }
    thread.scan = null
    scan.over(scan.hasRoom || word.end.kind !== 'whole' ? word.end : { kind: 'whole', leftOut: true })
    if (thread !== current) void thread.worker.terminate()
    next()
  }

  function died(thread: Thread, error: unknown): void {
    if (!all.delete(thread)) return
    if (current === thread) current = null
    if (isClosed) return
    const { scan } = thread
    if (scan || !(error instanceof Error && error.message === 'it ended')) {
      deaths.push(clock.now())
      log.error(
        { path: scan?.order.path, err: error },
        'scan thread died; its folder counts as unreadable, and another thread scans the rest',
      )
    }
    thread.scan = null
    scan?.over({ kind: 'unreadable', reason: 'the thread that looked at it died; see the log of the mesh' })
    next()
  }

  /** Gives the thread at work what waits, and waits for its sign. */
  function next(): void {
    const [scan] = queue
    if (!scan || isClosed) return
    if (current?.scan) return
    const refusal = current ? null : whyNoThread()
    queue.shift()
    if (refusal !== null) {
      scan.over({ kind: 'unreadable', reason: refusal })
      next()
      return
    }
    const thread = current ?? begin()
    if (!current) {
      current = thread
      void endWhenIdle(thread)
    }
    thread.scan = scan
    thread.beganAt = thread.heardAt = clock.now()
    thread.worker.postMessage(scan.order, [])
    void watchOver(thread, scan)
  }

  function whyNoThread(): string | null {
    if (all.size >= hangingMax)
      return `${all.size} folders do not answer, and no more are looked at until one does`
    while ((deaths[0] ?? Infinity) < clock.now() - deathsMs) deaths.shift()
    return deaths.length < deathsMax ? null : 'the thread that looks into folders died too often in a minute'
  }

  /** Until the scan is over, or the thread is left to it. */
  async function watchOver(thread: Thread, scan: Scan): Promise<void> {
    const signal = AbortSignal.any([closing.signal, scan.ended.signal])
    while (!signal.aborted) {
      const left = Math.min(thread.heardAt + silentMaxMs, thread.beganAt + busyMaxMs) - clock.now()
      if (left > 0) {
        await clock.sleep(left, signal).catch(() => {})
        continue
      }
      log.warn(
        { path: scan.order.path },
        'folder does not answer; its thread is left to it, and another scans the rest',
      )
      if (current === thread) current = null
      next()
      return
    }
  }

  /** Ends the thread when it has had no work for long. One that hangs ends with its scan. */
  async function endWhenIdle(thread: Thread): Promise<void> {
    const { signal } = closing
    while (current === thread && !signal.aborted) {
      const left = thread.scan ? idleMs : thread.heardAt + idleMs - clock.now()
      if (left > 0) {
        await clock.sleep(left, signal).catch(() => {})
        continue
      }
      current = null
      all.delete(thread)
      await thread.worker.terminate()
    }
  }

  return {
    threads: () => all.size,
    scanFolder: (path, { pattern, each, signal }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        if (isClosed) return resolve({ kind: 'unreadable', reason: 'the mesh ends' })
        const numbers = new Int32Array(new SharedArrayBuffer(gate.places * Int32Array.BYTES_PER_ELEMENT))
        const stop = () => {
          stopScan(scan)
          const at = queue.indexOf(scan)
          if (at !== -1) queue.splice(at, 1)
          reject(signal.reason as Error)
        }
        const scan: Scan = {
          order: { path, pattern, gate: numbers },
          each,
          hasRoom: true,
          ended: new AbortController(),
          over: (end) => {
            scan.ended.abort()
            signal.removeEventListener('abort', stop)
            resolve(end)
          },
        }
        signal.addEventListener('abort', stop, { once: true })
        queue.push(scan)
        next()
      }),
    async close() {
      isClosed = true
      closing.abort(new Error('closing'))
      const open = [...queue.splice(0), ...[...all].map(({ scan }) => scan)]
      for (const scan of open) {
        if (!scan) continue
        stopScan(scan)
        scan.over({ kind: 'unreadable', reason: 'the mesh ends' })
      }
      const ending = [...all].map(({ worker }) => worker.terminate())
      all.clear()
      current = null
      const waited = new AbortController()
      // A thread that hangs cannot be ended; nobody waits for it.
      await Promise.race([Promise.all(ending), clock.sleep(endMaxMs, waited.signal).catch(() => {})])
      waited.abort()
    },
  }
}

function take(scan: Scan, { names, numbers }: FolderPiece): void {
  for (let at = 0; at < names.length && scan.hasRoom; at++) {
    const place = at * numbersOfFile
    scan.hasRoom = scan.each(names[at] ?? '', {
      modifiedMs: numbers[place] ?? 0,
      changedMs: numbers[place + 1] ?? 0,
      sizeBytes: numbers[place + 2] ?? 0,
      inode: numbers[place + 3] ?? 0,
    })
  }
  if (!scan.hasRoom) stopScan(scan)
  Atomics.add(scan.order.gate, gate.takenPieces, 1)
  Atomics.notify(scan.order.gate, gate.takenPieces)
}

function stopScan({ order }: Scan): void {
  Atomics.store(order.gate, gate.stopped, 1)
  Atomics.notify(order.gate, gate.takenPieces)
}

function startWorker(): Worker {
  return new Worker(new URL('scan-worker.ts', import.meta.url), {
    name: 'flotilla-watch',
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  })
}
