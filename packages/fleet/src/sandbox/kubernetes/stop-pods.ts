import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { homeTag } from '../sandbox-spec.ts'
import { workThrough } from '../work-through.ts'
import { connectCluster, type Cluster, type ClusterAddress } from './connect-cluster.ts'
import { agentIdOf, hasEnded, type Pod } from './pod-state.ts'
import { watchPods, type PodWatch } from './pod-watch.ts'
import { reachNodes } from './prepare-ground.ts'
import { endPod, removePod } from './start-pod.ts'

const stoppedAtOnce = 16

interface HomePods {
  readonly homeId: string
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * Stops the pods of a home as the mesh itself stops them: pods of agents end and keep their data, exit code and log;
 * throw-away pods are deleted. Nothing is prepared, so no pod is created. Returns the agents whose pods ran. Rejects
 * with `SandboxError` if the cluster does not answer or a pod does not end; the other pods are stopped nevertheless.
 */
export async function stopKubernetesHome(
  options: ClusterAddress & HomePods & { readonly graceMs: number },
): Promise<readonly string[]> {
  const cluster = await connectCluster(options)
  await reachNodes(cluster)
  const failures: unknown[] = []
  const ended: string[] = []
  const ignored = (): void => undefined
  try {
    await withPods(cluster, options, async (watch) => {
      const to = { cluster, watch, ground: options }
      const stop = async (pod: Pod): Promise<void> => {
        const { name, labels } = pod.metadata
        if (labels?.[labelKeys.role] !== 'agent') return removePod(to, name, ignored)
        if (hasEnded(pod)) return
        await endPod(to, name, { graceMs: options.graceMs, onEnding: ignored })
        ended.push(agentIdOf(pod) ?? name)
      }
      const pods = [...watch.known().values()]
      await workThrough(pods, stoppedAtOnce, (pod) => stop(pod).catch((error) => failures.push(error)))
    })
  } catch (error) {
    failures.unshift(error)
  }
  if (failures.length > 0) throw leftRunning(options, failures[0])
  return ended.sort()
}

/** Opens a watch of the pods of a home, runs `act` with it, and closes the watch. */
export async function withPods(
  cluster: Cluster,
  { homeId, namespace, clock, log }: HomePods,
  act: (watch: PodWatch) => Promise<void>,
): Promise<void> {
  const ignored = (): void => undefined
  const watch = await watchPods({
    cluster,
    namespace,
    labelSelector: homeSelector(homeId),
    clock,
    log,
    onPod: ignored,
    onGone: ignored,
    onBack: ignored,
  })
  try {
    await act(watch)
  } finally {
    await watch.close()
  }
}

/** The label selector of everything that a home has in a cluster. */
export const homeSelector = (homeId: string): string => `${labelKeys.home}=${homeTag(homeId)}`

function leftRunning({ namespace, homeId }: HomePods, cause: unknown): SandboxError {
  if (cause instanceof SandboxError) return cause
  return new SandboxError(
    'pods-left',
    `The pods of this home in namespace ${namespace} could not all be stopped: ${reasonOf(cause)}\nRepair: see them with \`kubectl --namespace ${namespace} get pods --selector ${homeSelector(homeId)}\`, then run flotilla stop again.`,
    { cause },
  )
}
