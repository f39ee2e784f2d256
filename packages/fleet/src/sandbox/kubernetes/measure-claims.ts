import { askEach } from '../ask-each.ts'
import type { DataUse } from '../sandbox-runtime.ts'
import { askAgentPod } from './ask-agent-pod.ts'
import type { PreparedCluster } from './start-pod.ts'

/** The number of pods measured at once; the counting uses the agent's own processor share. */
const askedAtOnce = 4
const countMaxSeconds = 20

/** Prints blocks and names of everything below `/data`; the last line is the result code. */
const countCommand = [
  'sh',
  '-c',
  `{ timeout ${countMaxSeconds} find /data -xdev -mindepth 1 -printf '%b\\n'; echo "end $?"; } | awk '$1 == "end" { print bytes + 0, files + 0, $2; exit } { bytes += $1 * 512; files++ }'`,
]

/** Parses a line of this command's output; null for any other line. Pure. */
export function dataUseOf(line: string): DataUse | null {
  const [, bytes, files, code] = /^(\d+) (\d+) (\d+)$/.exec(line.trim()) ?? []
  if (bytes === undefined) return null
  return { bytes: Number(bytes), files: Number(files), complete: code !== '124' }
}

/** Measures the stored data of running agents; a stopped agent writes nothing. */
export function measureClaims(
  to: PreparedCluster,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, DataUse>> {
  return askEach(agentIds, askedAtOnce, async (agentId) => {
    const said = await askAgentPod(to, agentId, countCommand)
    return said === null ? null : dataUseOf(said)
  })
}
