import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { DataBound } from '../sandbox-runtime.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { homeTag } from '../sandbox-spec.ts'
import { claimOf, helperPod, nodesNeed } from './agent-objects.ts'
import { unlessRefused } from './connect-cluster.ts'
import { hasEnded, startFailure, waitsFor, type Pod } from './pod-state.ts'
import { PodWaitOver } from './pod-watch.ts'
import type { PreparedCluster } from './start-pod.ts'

/** Part of the names of throw-away pods and their claims; names of agents' claims are digests. */
export const trialInfix = '-try-'
/** The size of the volume claim with which the mesh tries the storage class, in bytes. */
const trialBytes = 64 * 1024 * 1024
/** The time limit of the pod that tries a volume claim, in milliseconds. */
const trialMaxMs = 180_000
/** How many trials are made if the node of a trial is lost. */
const trialsMax = 3
/** A volume may be larger than its claim by this factor: some kinds round up to whole mebibytes or extents. */
const roundingFactor = 1.25

/**
 * Tests whether a claim limits its size: some storage classes only give a folder of a larger disk. Creates a claim
 * and a pod, and so also reports an image that no node can pull. Rejects with `SandboxError`.
 */
export async function tryClaims(to: PreparedCluster, newName: () => string): Promise<DataBound> {
  for (let left = trialsMax - 1; ; left--) {
    try {
      return await tryClaim(to, newName())
    } catch (error) {
      if (!(error instanceof TrialLost) || left === 0) throw error
    }
  }
}

/** Thrown if the trial's pod reported nothing because its node was lost; a retry may run on another node. */
class TrialLost extends SandboxError {}

async function tryClaim(to: PreparedCluster, name: string): Promise<DataBound> {
  const { cluster, ground, watch } = to
  const { namespace } = ground
  const like = claimOf(ground, { agentId: name, dataLimitBytes: trialBytes })
  let isLost = false
  const claim: V1PersistentVolumeClaim = { ...like, metadata: { ...like.metadata, name } }
  try {
    await cluster.core.createNamespacedPersistentVolumeClaim({ namespace, body: claim })
    const command = ['stat', '--file-system', '--format=%b %S', '/data']
    const size = sandboxSizes.worker
    const body = helperPod(ground, { name, claim: name, command, size, lifeMaxMs: trialMaxMs })
    await cluster.core.createNamespacedPod({ namespace, body })
    const isOver = (pod: Pod | null): boolean => pod !== null && (hasEnded(pod) || startFailure(pod) !== null)
    const ended = await watch.reaches(name, isOver, { ms: trialMaxMs })
    const failure = ended === null ? null : startFailure(ended)
    if (failure !== null) throw new Error(failure)
    const log = await cluster.core.readNamespacedPodLog({ namespace, name }).catch(() => '')
    const [blocks, blockBytes] = log.trim().split(' ').map(Number)
    if (ended?.status?.phase !== 'Succeeded' || !blocks || !blockBytes) {
      isLost = true
      throw new Error(`${ended === null ? '' : waitsFor(ended)} ${log.slice(-200)}`)
    }
    const made = await cluster.core.readNamespacedPersistentVolumeClaim({ namespace, name })
    const capacity = bytesOf(made.status?.capacity?.['storage'] ?? '') ?? trialBytes
    return blocks * blockBytes <= capacity * roundingFactor
      ? { kind: 'volume' }
      : { kind: 'meter', why: 'volumes of this storage class do not enforce their size' }
  } catch (cause) {
    const why = cause instanceof PodWaitOver && cause.last !== null ? waitsFor(cause.last) : reasonOf(cause)
    throw new (isLost ? TrialLost : SandboxError)(
      'claim-trial-failed',
      `A pod with a volume could not be started in namespace ${namespace}: ${why}\nRepair: ${nodesNeed(ground)}; and check that the storage class provides volumes.`,
      { cause },
    )
  } finally {
    // Deleted without a grace period: the pod has no data to save, and a lost node would never confirm its end.
    await cluster.core
      .deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 })
      .catch(unlessRefused([404], null))
    await cluster.core
      .deleteNamespacedPersistentVolumeClaim({ namespace, name })
      .catch(unlessRefused([404], null))
  }
}

/** Deletes trial claims that a previous process left; `trialInfix` marks their names. */
export async function sweepTrials({ cluster, ground }: PreparedCluster): Promise<void> {
  const { namespace } = ground
  const labelSelector = `${labelKeys.home}=${homeTag(ground.homeId)}`
  const { items } = await cluster.core.listNamespacedPersistentVolumeClaim({ namespace, labelSelector })
  for (const { metadata } of items) {
    const name = metadata?.name ?? ''
    if (!name.includes(trialInfix)) continue
    await cluster.core
      .deleteNamespacedPersistentVolumeClaim({ namespace, name })
      .catch(unlessRefused([404], null))
  }
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** Parses a Kubernetes quantity; null if it is invalid. Pure. */
export function bytesOf(quantity: string): number | null {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([kMGT]|[KMGT]i)?$/.exec(quantity) ?? []
  const factor = units[unit]
  return digits === undefined || factor === undefined ? null : Number(digits) * factor
}
