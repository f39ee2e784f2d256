import process from 'node:process'

/** The processor time of `standardWork` on the machine for which the tests' limits of processor time were set. */
const standardMs = 16
/** A machine that is slower than this is broken, and no limit is made longer for it. */
const slownessMax = 6
const samples = 5

/**
 * Returns how much slower this machine is at this moment than the one for which limits of processor time were set,
 * from 1 to `slownessMax`: the processors of virtual machines differ by more than such a limit allows for.
 */
export function processorSlowness(): number {
  const times = Array.from({ length: samples }, standardWorkMs).sort((one, other) => one - other)
  const median = times[Math.floor(samples / 2)] ?? standardMs
  return Math.min(slownessMax, Math.max(1, median / standardMs))
}

/** Does the same amount of the mesh's typical work: rows to JSON, JSON to rows. Returns its time on the processor. */
function standardWorkMs(): number {
  const rows = Array.from({ length: 2000 }, (_, at) => ({ id: `agent${at}`, text: `${at} `.repeat(50), at }))
  const before = process.cpuUsage()
  for (let times = 0; times < 10; times++) JSON.parse(JSON.stringify(rows))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
