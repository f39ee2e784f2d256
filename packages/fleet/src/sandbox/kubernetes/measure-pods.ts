import { askEach } from '../ask-each.ts'
import type { SandboxUse } from '../sandbox-runtime.ts'
import { askAgentPod } from './ask-agent-pod.ts'
import type { PreparedCluster } from './start-pod.ts'

/** The number of pods measured at once. */
const concurrentPodsMax = 8
const microPerSecond = 1e6
const nanoPerSecond = 1e9

/** Files of the container's own cgroup (version 1 or 2); the script prints each file's name before its content. */
const files = [
  '/sys/fs/cgroup/memory.current',
  '/sys/fs/cgroup/memory.max',
  '/sys/fs/cgroup/memory.stat',
  '/sys/fs/cgroup/cpu.stat',
  '/sys/fs/cgroup/memory/memory.usage_in_bytes',
  '/sys/fs/cgroup/memory/memory.limit_in_bytes',
  '/sys/fs/cgroup/memory/memory.stat',
  '/sys/fs/cgroup/cpuacct/cpuacct.usage',
]
const readCommand = [
  'sh',
  '-c',
  'for file; do test -r "$file" && echo "== $file" && cat "$file"; done; true',
  'sh',
]

/** Parses the output of the script that reads `files`; null if it contains no figures. Pure. */
export function useOfGroup(answer: string): SandboxUse | null {
  const texts = new Map(
    answer.split(/^== \/sys\/fs\/cgroup\//m).map((part) => {
      const end = part.indexOf('\n')
      return [part.slice(0, end), part.slice(end + 1)] as const
    }),
  )
  const number = (name: string): number | null => {
    const text = texts.get(name)?.trim() ?? ''
    return /^\d+$/.test(text) ? Number(text) : null
  }
  const field = (name: string, key: string): number | null => {
    const found = new RegExp(`^${key} (\\d+)$`, 'm').exec(texts.get(name) ?? '')
    return found ? Number(found[1]) : null
  }
  const used = number('memory.current') ?? number('memory/memory.usage_in_bytes')
  const micros = field('cpu.stat', 'usage_usec')
  const nanos = number('cpuacct/cpuacct.usage')
  if (used === null || (micros === null && nanos === null)) return null
  const cached = field('memory.stat', 'inactive_file') ?? field('memory/memory.stat', 'total_inactive_file')
  return {
    memoryBytes: Math.max(0, used - (cached ?? 0)),
    memoryLimitBytes: number('memory.max') ?? number('memory/memory.limit_in_bytes'),
    cpuSeconds: micros === null ? (nanos ?? 0) / nanoPerSecond : micros / microPerSecond,
  }
}

/** Measures the current resource use of this home's pods; each kernel reports it inside the pod. */
export function measurePods(
  to: PreparedCluster,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, SandboxUse>> {
  return askEach(agentIds, concurrentPodsMax, async (agentId) => {
    const output = await askAgentPod(to, agentId, [...readCommand, ...files])
    return output === null ? null : useOfGroup(output)
  })
}
