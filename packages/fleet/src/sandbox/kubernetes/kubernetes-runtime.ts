import type { Clock } from '@flotilla/protocol/clock'
import { freshBytes, type Log } from '@flotilla/foundation/platform'
import { labelKeys } from '../hardening/container-options.ts'
import type { PodGround } from './agent-objects.ts'
import { claimName } from './agent-objects.ts'
import { checkCluster } from './check-cluster.ts'
import { agentNodes, clusterNetworks } from './cluster-nodes.ts'
import { connectCluster, refusalStatus, unlessRefused } from './connect-cluster.ts'
import type { ClusterAddress } from './connect-cluster.ts'
import { erasePods } from './erase-pods.ts'
import { measureClaims } from './measure-claims.ts'
import { measurePods } from './measure-pods.ts'
import { prepareGround } from './prepare-ground.ts'
import type { MeshService } from './prepare-ground.ts'
import { readPodData, writePodData } from './pod-data.ts'
import { agentIdOf, exitOf, hasEnded, podState, type Pod } from './pod-state.ts'
import { watchPods } from './pod-watch.ts'
import { endPod, forgetFiles, removePod, startPod, type PreparedCluster } from './start-pod.ts'
import { homeSelector } from './stop-pods.ts'
import { SandboxError } from '../sandbox-error.ts'
import type { DataBound, SandboxEnd, SandboxRuntime } from '../sandbox-runtime.ts'
import { homeTag, sandboxName } from '../sandbox-spec.ts'
import { createStartGate } from '../start-gate.ts'
import { workThrough } from '../work-through.ts'
import { sweepTrials, trialInfix, tryClaims } from './try-claims.ts'

/** The maximum number of concurrent pod starts or sweeps. */
const startsAtOnce = 16
/** The maximum number of log lines that are read of an agent's pod. */
const logLinesMax = 2_000
/** How long the mesh waits until a deleted volume claim is gone, in milliseconds. */
const deletionMaxMs = 60_000
/** The pause between two checks whether a deleted volume claim is gone, in milliseconds. */
const deletionPollMs = 100

export interface KubernetesRuntimeOptions
  extends ClusterAddress, Omit<PodGround, 'userNamespaces' | 'runtimeClass' | 'meshAddress' | 'ownAddress'> {
  /** The address at which pods reach this machine; defaults to its address on the route to the cluster. */
  readonly meshAddress?: string
  /** The Service in front of the mesh; set only if the mesh is a pod itself. */
  readonly service?: MeshService
  /** Ports of the agent API and the forward proxy: all that agents may reach. */
  readonly meshPorts: readonly number[]
  /** Called once the cluster is prepared and agents may run in it. */
  readonly onPrepared?: () => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** ADAPTER of `sandbox-runtime.ts`: one pod per agent, in one namespace of a cluster that the mesh does not run. */
export function createKubernetesRuntime(options: KubernetesRuntimeOptions): SandboxRuntime {
  const { homeId, namespace, clock, log } = options
  const listeners = new Set<(end: SandboxEnd) => void>()
  const backListeners = new Set<() => void>()
  /** Agents of running pods whose end was not requested, by the pod's uid. */
  const running = new Map<string, string>()
  /** Uids of pods whose end was requested and that still exist. */
  const ending = new Set<string>()
  const gate = createStartGate(startsAtOnce)
  const newName = (): string =>
    `flotilla-${homeTag(homeId)}${trialInfix}${Buffer.from(freshBytes(6)).toString('hex')}`
  let ready: (PreparedCluster & { readonly bound: DataBound }) | null = null

  function prepared() {
    if (ready) return ready
    throw new SandboxError('not-prepared', 'The cluster is not prepared yet.\nRepair: restart the mesh.')
  }

  function onEnding(uid: string): void {
    ending.add(uid)
    running.delete(uid)
  }

  function reportExit(pod: Pod): void {
    const agentId = running.get(pod.metadata.uid)
    if (agentId === undefined) return
    running.delete(pod.metadata.uid)
    for (const listener of listeners) listener({ agentId, ...exitOf(pod) })
  }

  function onPod(pod: Pod): void {
    const agentId = agentIdOf(pod)
    if (hasEnded(pod)) reportExit(pod)
    else if (agentId !== null && !pod.metadata.deletionTimestamp && !ending.has(pod.metadata.uid))
      running.set(pod.metadata.uid, agentId)
  }

  const nodesNow = async () => agentNodes((await prepared().cluster.core.listNode()).items)
  const dataOf = (agentId: string, data: { readonly dataLimitBytes: number }) => ({
    agentId,
    clock,
    newName,
    ...data,
  })

  return {
    kind: 'kubernetes',
    isolates: true,
    crossesMachines: true,
    // Browser containers need capabilities that the namespace of agents does not allow.
    browsers: null,
    packages: null,
    ownImages: null,
    capacity: () => null,
    beside: () => [],
    listenHost: () => prepared().ground.ownAddress,
    meshAddress: () => prepared().ground.meshAddress,
    networks: async () => clusterNetworks(await nodesNow(), prepared().ground),

    async prepare({ progress, signal }) {
      if (ready !== null) return
      const cluster = await connectCluster(options)
      progress(`Preparing namespace ${namespace} in the cluster at ${cluster.url.host}`)
      const { nodes, meshAddress, ownAddress } = await prepareGround(cluster, options)
      signal?.throwIfAborted()
      const userNamespaces = nodes.length > 0 && nodes.every((node) => node.userNamespaces)
      const ground: PodGround = { ...options, meshAddress, ownAddress, userNamespaces }
      const watch = await watchPods({
        cluster,
        namespace,
        labelSelector: homeSelector(homeId),
        clock,
        log,
        onPod,
        onGone: (pod) => {
          reportExit(pod)
          ending.delete(pod.metadata.uid)
        },
        onBack: () => backListeners.forEach((listener) => listener()),
      })
      const to = { cluster, ground, watch }
      // A previous process that was killed may have left throw-away pods.
      const left = [...watch.known().values()].filter(
        ({ metadata }) => metadata.labels?.[labelKeys.role] !== 'agent',
      )
      await workThrough(left, startsAtOnce, (pod) => gate(() => removePod(to, pod.metadata.name, onEnding)))
      await sweepTrials(to)
      progress('Testing whether the cluster limits the size of volumes')
      const bound = await tryClaims(to, newName)
      await options.onPrepared?.()
      if (bound.kind === 'meter')
        log.warn(
          { why: bound.why },
          'volumes with a size limit are unavailable; agents’ data is measured and an agent above its limit is stopped',
        )
      ready = { ...to, bound }
    },

    tryRung: async (rung) =>
      rung === 'container'
        ? { available: true, detail: '', repair: '' }
        : {
            available: false,
            detail: `the isolation level ${rung} is not available in clusters`,
            repair: 'Start with --isolation container, or run the fleet on one machine.',
          },

    async checkIsolation({ meshPort, signal }) {
      const to = prepared()
      const options = { nodesNow, meshPort, newName, clock, log, signal }
      const { walls, triedNodes, lostNodes } = await checkCluster(to, options)
      if (lostNodes.length > 0)
        log.warn({ nodes: lostNodes }, 'nodes were lost during isolation checks; no agent is placed there')
      if (walls.every(({ holds }) => holds)) ready = { ...to, ground: { ...to.ground, triedNodes } }
      return walls
    },

    start: (spec) =>
      gate(() =>
        startPod(prepared(), spec, {
          onCreated: (uid) => {
            if (!ending.has(uid)) running.set(uid, spec.agentId)
          },
          onEnding,
        }),
      ),

    // Starting pods borrow no processor share, but by now the pod has read its start files, which are deleted.
    endStartShare: (agentId) => forgetFiles(prepared(), agentId),

    async stop(agentId, { graceMs }) {
      await endPod(prepared(), sandboxName(homeId, agentId), { graceMs, onEnding })
    },

    async remove(agentId, { data }) {
      const to = prepared()
      await removePod(to, sandboxName(homeId, agentId), onEnding)
      if (!data) return
      const claim = { namespace, name: claimName(homeId, agentId) }
      const { core } = to.cluster
      await core.deleteNamespacedPersistentVolumeClaim(claim).catch(unlessRefused([404], null))
      const deadline = clock.now() + deletionMaxMs
      while (clock.now() < deadline) {
        const left = await core.readNamespacedPersistentVolumeClaim(claim).catch(unlessRefused([404], null))
        if (left === null) return
        await clock.sleep(deletionPollMs)
      }
      throw new SandboxError(
        'claim-survives',
        `The claim ${claim.name} is not deleted.\nRepair: see why with \`kubectl --namespace ${namespace} describe pvc ${claim.name}\`.`,
      )
    },

    async inspect(agentId) {
      const pod = await prepared().cluster.readPod(namespace, sandboxName(homeId, agentId))
      return pod === null ? null : podState(pod)
    },

    list: async () => [...prepared().watch.known().values()].map(podState).filter((state) => state !== null),

    async logs(agentId, maxBytes) {
      const name = sandboxName(homeId, agentId)
      const logRequest = { namespace, name, container: 'agent', tailLines: logLinesMax }
      // The API server answers 400 for a pod that has not started.
      const text = await prepared()
        .cluster.core.readNamespacedPodLog(logRequest)
        .catch((error: unknown) => {
          if ([400, 404].includes(refusalStatus(error) ?? 0)) return ''
          throw error
        })
      return Buffer.from(text).subarray(-maxBytes).toString('utf8')
    },

    measureUse: (agentIds) => measurePods(prepared(), agentIds),
    dataBound: () => prepared().bound,
    measureData: async (agentIds) =>
      prepared().bound.kind === 'volume' ? new Map() : measureClaims(prepared(), agentIds),
    readData: (agentId, data) => readPodData(prepared(), dataOf(agentId, data)),
    writeData: (agentId, tar, data) => writePodData(prepared(), dataOf(agentId, data), tar),

    onEngineBack(listener) {
      backListeners.add(listener)
      return () => backListeners.delete(listener)
    },

    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    async erase({ progress, signal }) {
      const cluster = await connectCluster(options)
      signal?.throwIfAborted()
      progress(`Removing the pods of this home and their data from namespace ${namespace}`)
      running.clear()
      await ready?.watch.close()
      ready = null
      await erasePods(cluster, options)
    },

    async close() {
      await ready?.watch.close()
    },
  }
}
