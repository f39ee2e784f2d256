import { Worker } from 'node:worker_threads'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { numbersOfFile } from './read-folder.ts'
import type { FolderPiece } from './read-folder.ts'
import type { ScanEnd, ScanFolder } from './scan-folder.ts'
import { gate } from './scan-messages.ts'
import type { ScanOrder, ScanWord } from './scan-messages.ts'

/** A thread that sends nothing for this time (milliseconds) hangs in its folder. Other scans do not wait for it. */
export const silentMaxMs = 10_000
/** How long other scans wait for a long scan at most, in milliseconds. */
const busyMaxMs = 60_000
/** The maximum number of hanging threads. At this number no folder is scanned. */
export const hangingMax = 4
/** A thread without work ends after this time, in milliseconds. */
export const idleMs = 60_000
/** If this many threads die within `deathsMs` milliseconds, no new thread starts for a while. */
export const deathsMax = 3
export const deathsMs = 60_000
/** The heap limit of a thread in MB. The thread holds a few thousand names. */
const heapMaxMb = 64

export interface Scan {
  readonly order: ScanOrder
  readonly each: Parameters<ScanFolder>[1]['each']
  readonly over: (end: ScanEnd) => void
  /** Aborted when the thread has finished the scan, even if no caller waits for the result. */
  readonly ended: AbortController
  hasRoom: boolean
}

interface Thread {
  readonly worker: Worker
  scan: Scan | null
  beganAt: number
  heardAt: number
}

/** The scan threads and the queue of scans. */
export interface ScanPool {
  readonly clock: Clock
  readonly log: Log
  readonly start: () => Worker
  readonly queue: Scan[]
  /** The live threads, including hanging ones. */
  readonly threads: Set<Thread>
  /** When threads died, in milliseconds since 1970, oldest first. */
  readonly deaths: number[]
  readonly closing: AbortController
  /** The thread that gets new scans; null if no thread runs. */
  current: Thread | null
}

export function makePool(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly start: (() => Worker) | undefined
}): ScanPool {
  return {
    clock: deps.clock,
    log: deps.log,
    start: deps.start ?? startWorker,
    queue: [],
    threads: new Set(),
    deaths: [],
    closing: new AbortController(),
    current: null,
  }
}

/** Gives the current thread the next scan and watches the scan. */
export function scanNext(pool: ScanPool): void {
  const [scan] = pool.queue
  if (!scan || pool.closing.signal.aborted) return
  if (pool.current?.scan) return
  const now = pool.clock.now()
  const refusal = pool.current ? null : whyNoThread({ ...pool, living: pool.threads.size, now })
  pool.queue.shift()
  if (refusal !== null) {
    scan.over({ kind: 'unreadable', reason: refusal })
    scanNext(pool)
    return
  }
  const thread = pool.current ?? begin(pool, scan)
  if (thread === null) {
    scanNext(pool)
    return
  }
  if (!pool.current) {
    pool.current = thread
    void endWhenIdle(pool, thread)
  }
  thread.scan = scan
  thread.beganAt = thread.heardAt = now
  thread.worker.postMessage(scan.order, [])
  void watchOver(pool, thread, scan)
}

/** Returns why no new thread may start, or null. Pure. */
export function whyNoThread({
  living,
  deaths,
  now,
}: {
  readonly living: number
  readonly deaths: readonly number[]
  readonly now: number
}): string | null {
  if (living >= hangingMax)
    return `${living} watched folders do not answer, so no further folder is scanned until one of them answers`
  const recent = deaths.filter((at) => at >= now - deathsMs)
  return recent.length < deathsMax ? null : 'the scan thread died too often in a minute'
}

/** Null if the system starts no thread: the folder of the scan then counts as unreadable. */
function begin(pool: ScanPool, scan: Scan): Thread | null {
  let worker: Thread['worker']
  try {
    worker = pool.start()
  } catch (error) {
    pool.deaths.push(pool.clock.now())
    while (pool.deaths.length > deathsMax) pool.deaths.shift()
    pool.log.error(
      { path: scan.order.path, err: error },
      'failed to start a scan thread; its folder counts as unreadable',
    )
    scan.over({ kind: 'unreadable', reason: 'the scan thread could not be started; see the log of the mesh' })
    return null
  }
  const thread: Thread = { worker, scan: null, beganAt: 0, heardAt: pool.clock.now() }
  pool.threads.add(thread)
  thread.worker.unref()
  thread.worker.on('message', (word: ScanWord) => receive(pool, thread, word))
  thread.worker.on('error', (error: unknown) => died(pool, thread, error))
  thread.worker.on('exit', () => died(pool, thread, null))
  return thread
}

function receive(pool: ScanPool, thread: Thread, word: ScanWord): void {
  const { scan } = thread
  thread.heardAt = pool.clock.now()
  if (!scan) return
  if (word.kind === 'piece') {
    take(scan, word.piece)
    return
  }
  thread.scan = null
  scan.over(scan.hasRoom || word.end.kind !== 'whole' ? word.end : { kind: 'whole', leftOut: true })
  if (thread !== pool.current) void thread.worker.terminate()
  scanNext(pool)
}

/** Handles a thread's error or unexpected exit. An exit without an error and without a scan is not counted. */
function died(pool: ScanPool, thread: Thread, error: unknown): void {
  if (!pool.threads.delete(thread)) return
  if (pool.current === thread) pool.current = null
  if (pool.closing.signal.aborted) return
  const { scan } = thread
  if (scan || error !== null) {
    pool.deaths.push(pool.clock.now())
    while (pool.deaths.length > deathsMax) pool.deaths.shift()
    pool.log.error(
      { path: scan?.order.path, err: error ?? new Error('it ended') },
      'a scan thread died; its folder counts as unreadable and another thread scans the rest',
    )
  }
  thread.scan = null
  scan?.over({ kind: 'unreadable', reason: 'the scan thread died; see the log of the mesh' })
  scanNext(pool)
}

/** Watches until the scan ends or the thread is abandoned. */
async function watchOver(pool: ScanPool, thread: Thread, scan: Scan): Promise<void> {
  const { clock, log } = pool
  const signal = AbortSignal.any([pool.closing.signal, scan.ended.signal])
  while (!signal.aborted) {
    const left = Math.min(thread.heardAt + silentMaxMs, thread.beganAt + busyMaxMs) - clock.now()
    if (left > 0) {
      await clock.sleep(left, signal).catch(() => {})
      continue
    }
    log.warn({ path: scan.order.path }, 'a watched folder does not answer; another thread scans the rest')
    if (pool.current === thread) pool.current = null
    scanNext(pool)
    return
  }
}

/** Ends the thread after it was idle for `idleMs`. A hanging thread ends with its scan. */
async function endWhenIdle(pool: ScanPool, thread: Thread): Promise<void> {
  const { clock, closing } = pool
  while (pool.current === thread && !closing.signal.aborted) {
    const left = thread.scan ? idleMs : thread.heardAt + idleMs - clock.now()
    if (left > 0) {
      await clock.sleep(left, closing.signal).catch(() => {})
      continue
    }
    pool.current = null
    pool.threads.delete(thread)
    await thread.worker.terminate()
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

/** Asks the thread to stop the scan. */
export function stopScan({ order }: Scan): void {
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
