import type { DataUse } from '../sandbox-runtime.ts'
import { sandboxName } from '../sandbox-spec.ts'
import { runInPod } from './pod-data.ts'
import { hasEnded, hasStarted } from './pod-state.ts'
import type { PreparedCluster } from './start-pod.ts'

/** Pods that are asked about at once; each counts in the agent's own share of the processor. */
const askedAtOnce = 4
const countMaxSeconds = 20

/** Blocks and names of everything below `/data`; the last line says how the counting ended. */
const countCommand = [
  'sh',
  '-c',
  `{ timeout ${countMaxSeconds} find /data -xdev -mindepth 1 -printf '%b\\n'; echo "end $?"; } | awk '$1 == "end" { print bytes + 0, files + 0, $2; exit } { bytes += $1 * 512; files++ }'`,
]

/** Of a line of the command above; null of anything else. Pure. */
export function dataUseOf(line: string): DataUse | null {
  const [, bytes, files, code] = /^(\d+) (\d+) (\d+)$/.exec(line.trim()) ?? []
  if (bytes === undefined) return null
  return { bytes: Number(bytes), files: Number(files), complete: code !== '124' }
}

/** What agents that run keep; whoever does not run writes nothing either. */
export async function measureClaims(
  { cluster, ground, watch }: PreparedCluster,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, DataUse>> {
  const uses = new Map<string, DataUse>()
  for (let from = 0; from < agentIds.length; from += askedAtOnce) {
    const part = agentIds.slice(from, from + askedAtOnce)
    await Promise.all(
      part.map(async (agentId) => {
        const name = sandboxName(ground.homeId, agentId)
        const pod = watch.known().get(name)
        if (pod === undefined || hasEnded(pod) || !hasStarted(pod)) return
        const place = { namespace: ground.namespace, pod: name, container: 'agent' }
        const said = await runInPod(cluster, place, countCommand).catch(() => null)
        const use = said === null ? null : dataUseOf(said.stdout)
        if (use !== null) uses.set(agentId, use)
      }),
    )
  }
  return uses
}
