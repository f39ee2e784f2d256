import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { labelKeys } from '../hardening/container-options.ts'
import { homeTag } from '../sandbox-spec.ts'
import { workThrough } from '../work-through.ts'
import type { PodGround } from './agent-objects.ts'
import { leaseName } from './cluster-lease.ts'
import { unlessRefused, type Cluster } from './connect-cluster.ts'
import { watchPods } from './pod-watch.ts'
import { removePod } from './start-pod.ts'

const removedAtOnce = 16

/** Deletes everything that a home has in its namespace, but not the namespace, since others may use it. */
export async function erasePods(
  cluster: Cluster,
  { ground, clock, log }: { readonly ground: PodGround; readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const { namespace } = ground
  const labelSelector = `${labelKeys.home}=${homeTag(ground.homeId)}`
  const ignored = (): void => undefined
  const watch = await watchPods({
    cluster,
    namespace,
    labelSelector,
    clock,
    log,
    onPod: ignored,
    onGone: ignored,
    onBack: ignored,
  })
  try {
    const names = [...watch.known().keys()]
    await workThrough(names, removedAtOnce, (name) => removePod({ cluster, ground, watch }, name, ignored))
  } finally {
    await watch.close()
  }
  const ofHome = { namespace, labelSelector }
  await cluster.core.deleteCollectionNamespacedSecret(ofHome)
  await cluster.core.deleteCollectionNamespacedPersistentVolumeClaim(ofHome)
  await cluster.networking.deleteCollectionNamespacedNetworkPolicy(ofHome)
  const lease = { namespace, name: leaseName(ground.homeId) }
  await cluster.leases.deleteNamespacedLease(lease).catch(unlessRefused([404], null))
}
