import { askEach } from '../ask-each.ts'
import type { DataUse } from '../sandbox-runtime.ts'
import { askAgentPod } from './ask-agent-pod.ts'
import type { PreparedCluster } from './start-pod.ts'

/** The number of pods measured at once; counting uses the processor share of the agent in the pod. */
const concurrentPodsMax = 4
const countMaxSeconds = 20

/** Prints one line: bytes and number of files below `/data`, and the exit code of the count. */
const countCommand = [
  'sh',
  '-c',
  `{ timeout ${countMaxSeconds} find /data -xdev -mindepth 1 -printf '%b\\n'; echo "end $?"; } | awk '$1 == "end" { print bytes + 0, files + 0, $2; exit } { bytes += $1 * 512; files++ }'`,
]

/** Parses one line that `countCommand` printed; null for any other line. Pure. */
export function dataUseOf(line: string): DataUse | null {
  const [, bytes, files, code] = /^(\d+) (\d+) (\d+)$/.exec(line.trim()) ?? []
  if (bytes === undefined) return null
  return { bytes: Number(bytes), files: Number(files), complete: code !== '124' }
}

/** Measures the stored data of running agents; a stopped agent cannot write more data. */
export function measureClaims(
  to: PreparedCluster,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, DataUse>> {
  return askEach(agentIds, concurrentPodsMax, async (agentId) => {
    const output = await askAgentPod(to, agentId, countCommand)
    return output === null ? null : dataUseOf(output)
  })
}
