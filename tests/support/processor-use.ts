import { readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'

/** Units of the times in `/proc`, by the kernel's own constant. */
const clockTicksPerSecond = 100

/** What the processors of this machine have done so far, in clock ticks of all of them together. */
export interface ProcessorUse {
  readonly atMs: number
  readonly busyTicks: number
  /** The part of this process and of all that it started. */
  readonly ownTicks: number
}

export function processorUse(): ProcessorUse {
  // The columns are user, nice, system, idle, waiting for input, interrupts, soft interrupts, and stolen time.
  const [user = 0, nice = 0, system = 0, , , interrupt = 0, soft = 0, stolen = 0] = readFileSync(
    '/proc/stat',
    'utf8',
  )
    .split('\n', 1)
    .flatMap((line) => line.split(/\s+/).slice(1).map(Number))
  const busyTicks = user + nice + system + interrupt + soft + stolen
  return { atMs: performance.now(), busyTicks, ownTicks: ownTicks() }
}

/** Returns how many processors other programs used on average between two readings. Pure. */
export function usedByOthers(before: ProcessorUse, after: ProcessorUse): number {
  const ticks = after.busyTicks - before.busyTicks - (after.ownTicks - before.ownTicks)
  return Math.max(0, ticks) / clockTicksPerSecond / ((after.atMs - before.atMs) / 1000)
}

function ownTicks(): number {
  const processes = readdirSync('/proc').flatMap((name) =>
    /^\d+$/.test(name) ? (readProcess(name) ?? []) : [],
  )
  const own = new Set([process.pid])
  let ticks = 0
  // A child has a higher id than its parent, but where ids begin again.
  for (const { pid, parent, used } of processes.toSorted((one, other) => one.pid - other.pid)) {
    if (own.has(parent)) own.add(pid)
    if (own.has(pid)) ticks += used
  }
  return ticks
}

/** The times of a process and of its children that have ended; null if it ends meanwhile. */
function readProcess(name: string) {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const used = fields.slice(11, 15).reduce((all, one) => all + one, 0)
    return { pid: Number(name), parent: fields[1] ?? 0, used }
  } catch {
    return null
  }
}
