import { readFile, readdir } from 'node:fs/promises'
import type { SandboxUse } from '../sandbox-runtime.ts'
import type { ProcessRecord } from './process-record.ts'

/** Ticks per second in which Linux reports processor time to programs. */
const ticksPerSecond = 100
const pageBytes = 4096

/** Measures the resource use of each agent's process group. Scans all processes of the machine. */
export async function measureGroups(
  records: readonly Pick<ProcessRecord, 'agentId' | 'pid'>[],
): Promise<ReadonlyMap<string, SandboxUse>> {
  const agentOf = new Map(records.map(({ agentId, pid }) => [pid, agentId]))
  const uses = new Map<string, SandboxUse>()
  if (agentOf.size === 0) return uses
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => null)
    const one = stat === null ? null : processUse(stat)
    const agentId = one === null ? undefined : agentOf.get(one.group)
    if (one === null || agentId === undefined) continue
    const sum = uses.get(agentId)
    uses.set(agentId, {
      memoryBytes: (sum?.memoryBytes ?? 0) + one.memoryBytes,
      memoryLimitBytes: null,
      cpuSeconds: (sum?.cpuSeconds ?? 0) + one.cpuSeconds,
    })
  }
  return uses
}

/**
 * Parses one line of `/proc/PID/stat`: the process group, the processor time with that of ended children, and the
 * memory. Pure.
 */
export function processUse(
  stat: string,
): { readonly group: number; readonly memoryBytes: number; readonly cpuSeconds: number } | null {
  // The process name is in brackets and may contain anything; after the last bracket are only simple fields.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const numbers = [2, 11, 12, 13, 14, 21].map((index) => Number(fields[index] ?? Number.NaN))
  if (numbers.some((value) => !Number.isFinite(value))) return null
  const [group = 0, user = 0, system = 0, childUser = 0, childSystem = 0, pages = 0] = numbers
  const ticks = user + system + childUser + childSystem
  return { group, memoryBytes: pages * pageBytes, cpuSeconds: ticks / ticksPerSecond }
}
