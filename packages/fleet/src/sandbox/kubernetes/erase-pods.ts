import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { workThrough } from '../work-through.ts'
import { leaseName } from './cluster-lease.ts'
import { unlessRefused, type Cluster } from './connect-cluster.ts'
import { removePod } from './start-pod.ts'
import { homeSelector, withPods } from './stop-pods.ts'

const removedAtOnce = 16

/** Deletes everything that a home has in its namespace, but not the namespace, since others may use it. */
export async function erasePods(
  cluster: Cluster,
  home: { readonly homeId: string; readonly namespace: string; readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const { homeId, namespace } = home
  const ignored = (): void => undefined
  await withPods(cluster, home, async (watch) => {
    const to = { cluster, watch, ground: home }
    await workThrough([...watch.known().keys()], removedAtOnce, (name) => removePod(to, name, ignored))
  })
  const ofHome = { namespace, labelSelector: homeSelector(homeId) }
  await cluster.core.deleteCollectionNamespacedSecret(ofHome)
  await cluster.core.deleteCollectionNamespacedPersistentVolumeClaim(ofHome)
  await cluster.networking.deleteCollectionNamespacedNetworkPolicy(ofHome)
  const lease = { namespace, name: leaseName(homeId) }
  await cluster.leases.deleteNamespacedLease(lease).catch(unlessRefused([404], null))
}
