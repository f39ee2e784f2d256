import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { V1PersistentVolumeClaim, V1Secret } from '@kubernetes/client-node'
import { onceFiles } from '@flotilla/protocol/agent-link'
import { seedEntries } from '../hardening/seed-entries.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { SandboxState } from '../sandbox-runtime.ts'
import { agentSize } from '../default-agent-sizes.ts'
import { sandboxName, type SandboxSpec } from '../sandbox-spec.ts'
import { tarArchive } from '../tar-archive.ts'
import { agentObjects, emptyFiles, secretsOf, type PodGround } from './agent-objects.ts'
import { unlessRefused, type Cluster } from './connect-cluster.ts'
import { hasEnded, hasStarted, podSchema, podState, startFailure, waitsFor, type Pod } from './pod-state.ts'
import { PodWaitOver, type PodWatch } from './pod-watch.ts'

/** Finalizer that keeps a deleted pod until its exit code was read; only the mesh uses the prefix. */
const endFinalizer = 'flotilla.local/end'
/** Time limit of a start, milliseconds: a node may have to pull the image, and another node to release the claim. */
const startMaxMs = 180_000
/** Time beyond the program's grace period for a node to end the program and to report its end, milliseconds. */
const endMaxMs = 60_000

export interface PreparedCluster {
  readonly cluster: Cluster
  readonly ground: PodGround
  readonly watch: PodWatch
}

/** The parts of a prepared cluster that are needed to end a pod. */
type PodPlace = Pick<PreparedCluster, 'cluster' | 'watch'> & { readonly ground: Pick<PodGround, 'namespace'> }

/** Starts one pod and replaces any that has the agent's name. */
export async function startPod(
  to: PreparedCluster,
  spec: SandboxSpec,
  track: { readonly onCreated: (uid: string) => void; readonly onEnding: (uid: string) => void },
): Promise<SandboxState> {
  const { cluster, ground, watch } = to
  const { namespace } = ground
  const name = sandboxName(ground.homeId, spec.agentId)
  try {
    const texts = Object.entries(await textsOf(spec.briefingDirectory))
    const isOnce = ([file]: readonly [string, string]): boolean => onceFiles.includes(file)
    const objects = agentObjects(ground, spec, {
      archive: await packed(spec.files),
      once: await packed(Object.fromEntries(texts.filter(isOnce))),
      briefing: Object.fromEntries(texts.filter((text) => !isOnce(text))),
    })
    await removePod(to, name, track.onEnding)
    const warnings = [...(await putClaim(to, objects.claim)), ...sizeWarnings(spec)]
    for (const secret of [objects.files, objects.briefing, objects.environment]) await putSecret(to, secret)
    const { metadata } = objects.pod
    const body = { ...objects.pod, metadata: { ...metadata, finalizers: [endFinalizer] } }
    const created = podSchema.parse(await cluster.core.createNamespacedPod({ namespace, body }))
    const { uid } = created.metadata
    track.onCreated(uid)
    const isThere = (pod: Pod | null): boolean =>
      pod?.metadata.uid === uid && (hasStarted(pod) || startFailure(pod) !== null)
    const pod = await watch.reaches(name, isThere, { ms: startMaxMs }).catch((error: unknown) => {
      if (error instanceof PodWaitOver && error.last !== null) throw neverStarts(waitsFor(error.last), error)
      throw error
    })
    const state = pod === null ? null : podState(pod)
    const failure = pod === null ? 'the pod no longer exists' : (startFailure(pod) ?? seedFailure(pod))
    if (state === null || failure !== null) throw neverStarts(failure ?? 'the pod has lost its labels')
    return warnings.length === 0 ? state : { ...state, warnings }
  } catch (cause) {
    await removePod(to, name, track.onEnding).catch(() => undefined)
    if (cause instanceof SandboxError) throw cause
    throw new SandboxError(
      'sandbox-start-failed',
      `The pod of ${spec.agentId} could not be started: ${reasonOf(cause)}\nRepair: see the pod with \`kubectl --namespace ${namespace} describe pod ${name}\`, then start the agent again.`,
      { cause },
    )
  }
}

const neverStarts = (why: string, cause?: unknown): Error =>
  new Error(`its node does not start the pod: ${why}`, { cause })

/** Returns why a pod ended before its agent ran, because the container that unpacks the files failed; else null. */
function seedFailure(pod: Pod): string | null {
  const ran = (pod.status?.containerStatuses ?? []).some(({ state }) => state?.terminated || state?.running)
  return hasEnded(pod) && !ran ? waitsFor(pod) : null
}

/** Stops a pod and returns it in its final state; null if it does not exist. An ended pod is not changed. */
export async function endPod(
  { cluster, ground, watch }: PodPlace,
  name: string,
  options: { readonly graceMs: number; readonly onEnding: (uid: string) => void },
): Promise<Pod | null> {
  const { namespace } = ground
  const pod = await cluster.readPod(namespace, name)
  if (pod === null) return null
  options.onEnding(pod.metadata.uid)
  if (hasEnded(pod)) return pod
  const gracePeriodSeconds = Math.max(1, Math.ceil(options.graceMs / 1_000))
  await cluster.core
    .deleteNamespacedPod({ namespace, name, gracePeriodSeconds })
    .catch(unlessRefused([404], null))
  const bound = { ms: options.graceMs + endMaxMs }
  return watch
    .reaches(name, (now) => now === null || isOver(now), bound)
    .catch((error: unknown) => {
      if (!(error instanceof PodWaitOver)) throw error
      const node = error.last?.spec?.nodeName ?? 'unknown'
      throw new SandboxError(
        'pod-survives',
        `The pod ${name} has not ended: its node ${node} does not confirm the end, and a second pod of the same agent must not run at the same time.\nRepair: repair that node; or if it is gone permanently, run \`kubectl delete node ${node}\`.`,
        { cause: error },
      )
    })
}

/** Returns true if no process runs in the pod: it ended, or was deleted before it was scheduled. */
function isOver(pod: Pod): boolean {
  return hasEnded(pod) || (Boolean(pod.metadata.deletionTimestamp) && !pod.spec?.nodeName)
}

/** Stops a pod and deletes it with its secrets; resolves when a new pod can have the name. */
export async function removePod(to: PodPlace, name: string, onEnding: (uid: string) => void): Promise<void> {
  const { cluster, ground, watch } = to
  const { namespace } = ground
  const pod = await endPod(to, name, { graceMs: 0, onEnding })
  if (pod !== null) {
    const { uid } = pod.metadata
    const { PatchStrategy, setHeaderOptions } = await import('@kubernetes/client-node')
    await cluster.core
      .patchNamespacedPod(
        { namespace, name, body: { metadata: { uid, finalizers: null } } },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
      )
      .catch(unlessRefused([404, 409], null))
    await cluster.core
      .deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0, body: { preconditions: { uid } } })
      .catch(unlessRefused([404, 409], null))
    await watch.reaches(name, (now) => now?.metadata.uid !== uid, { ms: endMaxMs })
  }
  for (const secret of secretsOf(name)) {
    await cluster.core.deleteNamespacedSecret({ namespace, name: secret }).catch(unlessRefused([404], null))
  }
}

/** Empties the secret with the agent's files once its pod has read them. Idempotent. */
export async function forgetFiles({ cluster, ground }: PreparedCluster, agentId: string): Promise<void> {
  const body = emptyFiles(ground, agentId)
  const { namespace, name } = body.metadata
  await cluster.core.replaceNamespacedSecret({ namespace, name, body }).catch(unlessRefused([404], null))
}

const packed = async (files: Readonly<Record<string, string>>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(tarArchive(seedEntries(files))))

async function putSecret({ cluster, ground }: PreparedCluster, body: V1Secret & Named): Promise<void> {
  const { namespace } = ground
  await cluster.core.createNamespacedSecret({ namespace, body }).catch(async (error: unknown) => {
    unlessRefused([409], null)(error)
    await cluster.core.replaceNamespacedSecret({ namespace, name: body.metadata.name, body })
  })
}

interface Named {
  readonly metadata: { readonly name: string }
}

/** Returns what a cluster does not apply of a size: the node limits processes, and /tmp has the size of /dev/shm. */
function sizeWarnings({ kind, pidsLimit, tmpSizeBytes }: SandboxSpec): readonly string[] {
  const usual = agentSize(kind)
  return [
    ...(pidsLimit === usual.pidsLimit
      ? []
      : ['size.pids has no effect in a cluster; its nodes limit processes']),
    ...(tmpSizeBytes === usual.tmpSizeBytes
      ? []
      : ['size.tmp_mb has no effect in a cluster; /tmp has 64 MB']),
  ]
}

/** Creates the agent's claim, or keeps an existing claim (S7). Returns warnings for the owner. */
async function putClaim(
  { cluster, ground }: PreparedCluster,
  body: V1PersistentVolumeClaim & Named,
): Promise<readonly string[]> {
  const { namespace } = ground
  const made = await cluster.core
    .createNamespacedPersistentVolumeClaim({ namespace, body })
    .catch(unlessRefused([409], null))
  if (made !== null) return []
  const there = await cluster.core.readNamespacedPersistentVolumeClaim({
    namespace,
    name: body.metadata.name,
  })
  const has = there.spec?.resources?.requests?.['storage']
  const newSize = body.spec?.resources?.requests?.['storage']
  return has === newSize
    ? []
    : [
        `the volume of the agent was created with ${has} bytes and keeps that size; the setting asks for ${newSize}`,
      ]
}

async function textsOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Object.fromEntries(
    await Promise.all(files.map(async ({ name }) => [name, await readFile(join(folder, name), 'utf8')])),
  )
}
