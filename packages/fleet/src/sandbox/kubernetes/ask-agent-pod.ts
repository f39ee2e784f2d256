import { sandboxName } from '../sandbox-spec.ts'
import { runInPod } from './pod-data.ts'
import { hasEnded, hasStarted } from './pod-state.ts'
import type { PreparedCluster } from './start-pod.ts'

/** Runs a command in an agent's pod and returns its output; null if the pod does not run or ends before. */
export async function askAgentPod(
  { cluster, ground, watch }: PreparedCluster,
  agentId: string,
  command: readonly string[],
): Promise<string | null> {
  const pod = sandboxName(ground.homeId, agentId)
  const state = watch.known().get(pod)
  if (state === undefined || hasEnded(state) || !hasStarted(state)) return null
  const place = { namespace: ground.namespace, pod, container: 'agent' }
  const result = await runInPod(cluster, place, command).catch(() => null)
  return result?.stdout ?? null
}
