import { openClusterLease } from '../../packages/fleet/src/sandbox/kubernetes/cluster-lease.ts'
import { leaseRecordsConformance } from '../../packages/foundation/src/lease/lease-records.conformance.ts'
import { randomId, systemClock } from '../../packages/foundation/src/platform/index.ts'
import { clusterOfThisRun } from './cluster-lane.ts'
import { giveMeshRights } from './mesh-rights.ts'

/** The mesh has only the rights that docs/operations grants. */
leaseRecordsConformance('a cluster', async () => {
  await giveMeshRights()
  const { mesh } = clusterOfThisRun()
  const options = {
    kubeconfig: mesh.kubeconfig,
    homeId: randomId('life'),
    namespace: 'flotilla',
    clock: systemClock,
  }
  return [await openClusterLease(options), await openClusterLease(options)]
})
