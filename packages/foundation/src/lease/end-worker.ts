import { uptime } from 'node:os'
import process from 'node:process'
import { parentPort, workerData } from 'node:worker_threads'
import { cell } from './end-cells.ts'
import type { EndOrder } from './end-cells.ts'

/** The thread that ends the process. It loads no modules and waits for nothing else, so nothing can block it. */
const { cells, watchEveryMs }: EndOrder = workerData
parentPort?.postMessage('watches', [])

while (Atomics.load(cells, cell.stopped) === 0n) {
  const untilMs = Number(Atomics.load(cells, cell.untilMs))
  // `uptime()` in milliseconds is the clock of `steadyMs`.
  if (untilMs > 0 && uptime() * 1_000 >= untilMs) process.kill(process.pid, 'SIGKILL')
  Atomics.wait(cells, cell.stopped, 0n, watchEveryMs)
}
