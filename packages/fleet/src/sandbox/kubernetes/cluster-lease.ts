import type { V1Lease } from '@kubernetes/client-node'
import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { LeaseRecord, LeaseRecords, SeenRecord } from '@flotilla/foundation/lease'
import { leaseMs } from '@flotilla/foundation/lease'
import { labelKeys } from '../hardening/container-options.ts'
import { homeTag } from '../sandbox-spec.ts'
import {
  boundedRequest,
  connectCluster,
  unlessRefused,
  type Cluster,
  type ClusterAddress,
} from './connect-cluster.ts'
import { reachNodes, readyNamespace } from './prepare-ground.ts'
import type { MeshService } from './prepare-ground.ts'

export interface ClusterLeaseOptions extends ClusterAddress {
  readonly homeId: string
  readonly namespace: string
  readonly meshAddress?: string
  readonly service?: MeshService
  readonly clock: Pick<Clock, 'now'>
}

const leaseSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  spec: z
    .looseObject({ holderIdentity: z.string().nullish(), leaseTransitions: z.number().nullish() })
    .nullish(),
})

/**
 * ADAPTER of `lease-records.ts`: a Lease object in the namespace of a home's agents. Checks the cluster as a
 * start does, and creates the namespace if it is missing. Rejects with `SandboxError`.
 */
export async function openClusterLease(options: ClusterLeaseOptions): Promise<LeaseRecords> {
  const cluster = await connectCluster(options)
  await readyNamespace(cluster, options)
  return clusterLease(cluster, options)
}

/**
 * Opens the lease for reading: creates nothing, and accepts a cluster in which no agent could run. Rejects with
 * `SandboxError`.
 */
export async function lookAtClusterLease(options: ClusterLeaseOptions): Promise<LeaseRecords> {
  const cluster = await connectCluster(options)
  await reachNodes(cluster)
  return clusterLease(cluster, options)
}

/** Requires that the namespace exists. */
export function clusterLease(
  { leases }: Pick<Cluster, 'leases'>,
  { homeId, namespace, clock }: Omit<ClusterLeaseOptions, keyof ClusterAddress>,
): LeaseRecords {
  const name = leaseName(homeId)
  let lastMs = 0

  /** Builds a Lease object with a new time, because an object without changes would keep its version. */
  async function body({ holder, epoch }: LeaseRecord, over: string | null): Promise<V1Lease> {
    const { V1MicroTime } = await import('@kubernetes/client-node')
    lastMs = Math.max(clock.now(), lastMs + 1)
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name,
        namespace,
        labels: { [labelKeys.home]: homeTag(homeId) },
        ...(over === null ? {} : { resourceVersion: over }),
      },
      spec: {
        ...(holder === null ? {} : { holderIdentity: holder }),
        leaseDurationSeconds: leaseMs / 1_000,
        leaseTransitions: epoch,
        renewTime: new V1MicroTime(lastMs),
      },
    }
  }

  return {
    async read(signal) {
      const found = await leases
        .readNamespacedLease({ namespace, name }, await boundedRequest(signal))
        .catch(unlessRefused([404], null))
      return found === null ? null : seenOf(found)
    },
    async write(record, over, signal) {
      const options = await boundedRequest(signal)
      const made = { namespace, body: await body(record, over) }
      const written =
        over === null
          ? leases.createNamespacedLease(made, options)
          : leases.replaceNamespacedLease({ ...made, name }, options)
      // 404: another client deleted it.
      const found = await written.catch(unlessRefused(over === null ? [409] : [404, 409], null))
      return found === null ? null : seenOf(found)
    },
  }
}

export function leaseName(homeId: string): string {
  return `flotilla-${homeTag(homeId)}`
}

function seenOf(found: V1Lease): SeenRecord {
  const { metadata, spec } = leaseSchema.parse(found)
  return {
    holder: spec?.holderIdentity || null,
    epoch: spec?.leaseTransitions ?? 0,
    version: metadata.resourceVersion,
  }
}
