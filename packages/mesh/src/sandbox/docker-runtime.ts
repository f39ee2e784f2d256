import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../platform/index.ts'
import { labelKeys, volumeName } from './docker/container-options.ts'
import { runningState } from './docker/container-state.ts'
import { eraseHome } from './docker/erase-home.ts'
import {
  endMachine,
  inspectContainer,
  inspectedOf,
  removeContainer,
  startContainer,
  stopContainer,
  type PreparedEngine,
} from './docker/agent-container.ts'
import { readContainerData, releaseHeld, writeContainerData } from './docker/container-data.ts'
import { createDockerBrowsers } from './docker/docker-browsers.ts'
import { engineDialect } from './docker/engine-dialect.ts'
import { leftovers, listContainers, renameContainers } from './docker/list-containers.ts'
import { createMemoryEnds } from './docker/memory-ends.ts'
import { measureContainers } from './docker/measure-containers.ts'
import { measureVolumes } from './docker/measure-volumes.ts'
import { tryVolumes } from './docker/try-volumes.ts'
import { readLogs } from './docker/read-logs.ts'
import { createRungs } from './docker/rungs.ts'
import { warmPageCache } from './docker/warm-page-cache.ts'
import { restoreShare } from './docker/own-share.ts'
import { createRestoreImage } from './docker/restore-image.ts'
import { unlessStatus } from './docker/unless-status.ts'
import { watchEngine, type EngineEvent } from './docker/watch-ends.ts'
import { ensureEngine } from './engine/ensure-engine.ts'
import { findEngine } from './engine/find-engine.ts'
import { ensureAgentImage } from './image/agent-image.ts'
import { bundleAgent } from './image/bundle-agent.ts'
import { closeNameServer, nameServerState } from './network/close-name-server.ts'
import { engineNetworks, ensurePrivateNetwork } from './network/private-network.ts'
import { SandboxError } from './sandbox-error.ts'
import type { SandboxEnd, SandboxRuntime } from './sandbox-runtime.ts'
import { homeTag, sandboxName } from './sandbox-spec.ts'
import { createStartGate } from './start-gate.ts'
import { createStartShares } from './start-shares.ts'
import { createLimitedVolumes, profileVolumesFolder } from './volume/limited-volumes.ts'
import { findVolumePrograms } from './volume/volume-facts.ts'
import type { VolumePrograms } from './volume/volume-image.ts'
import { checkIsolation } from './isolation/check-isolation.ts'

const startsPerCore = 2

export interface DockerRuntimeOptions {
  readonly homeId: string
  /** Of the mesh; 0 where it may set firewall rules and install an engine itself. */
  readonly uid: number
  /** Values of `FLOTILLA_ENGINE_SOCKET` and `DOCKER_HOST`. */
  readonly engineSocket?: string | undefined
  readonly dockerHost?: string | undefined
  /** True with `FLOTILLA_NO_INSTALL=1`. */
  readonly noInstall: boolean
  /** Log and process id of an engine that had to be started. Shared by all homes of this machine. */
  readonly stateDirectory: string
  /** Bundles and parts of images. Shared by all homes of this machine. */
  readonly cacheDirectory: string
  /** `images/agent`. */
  readonly recipeDirectory: string
  /** `images/machine`. */
  readonly machineRecipeDirectory: string
  /** Where the pinned Node is looked up from: the repository's root. */
  readonly packageDirectory: string
  /** The agent's entry file; bundled when its sources changed. */
  readonly agentEntry: string
  readonly baseImage?: string | undefined
  /** Where volumes of a fixed size are kept. Belongs to one home. */
  readonly volumesFolder: string
  /** PATH of the mesh: where the programs that make volumes are found. */
  readonly path: string
  readonly browser: {
    /** `images/browser`. */
    readonly recipeDirectory: string
    /** Of what runs in their containers. */
    readonly browserEntry: string
    /** Of their proxy, all that browsers may reach on the host. */
    readonly proxyPort: number
  }
  /** Ports of the agent API and the forward proxy: all that agents may reach on the host. */
  readonly meshPorts: readonly number[]
  readonly clock: Clock
  readonly log: Log
}

/** ADAPTER of `sandbox-runtime.ts`: one hardened container per agent, through the API of Docker or Podman. */
export function createDockerRuntime(options: DockerRuntimeOptions): SandboxRuntime {
  const tag = homeTag(options.homeId)
  const listeners = new Set<(end: SandboxEnd) => void>()
  /** Containers whose end nobody asked for yet, by id. */
  const running = new Map<string, string>()
  const backListeners = new Set<() => void>()
  const closing = new AbortController()
  const restoreImage = createRestoreImage(options, closing.signal)
  const rungs = createRungs(options)
  let programs: VolumePrograms = new Map()
  const volumes = createLimitedVolumes({ folder: options.volumesFolder, programs: () => programs })
  const profiles = createLimitedVolumes({
    folder: profileVolumesFolder(options.volumesFolder),
    programs: () => programs,
  })
  const memoryEnds = createMemoryEnds()
  let ready: PreparedEngine | null = null
  let watching: Promise<void> | null = null
  let lost = false
  let connectedBefore = false
  let gate = createStartGate(startsPerCore)
  const sharesOf = (processors: number) => createStartShares({ ...options, processors })
  let shares = sharesOf(1)

  function prepared(): PreparedEngine {
    if (ready) return ready
    throw new SandboxError(
      'not-prepared',
      'The container engine was not prepared yet.\nRepair: call prepare first.',
    )
  }

  /** With its image in the engine. */
  async function standing(): Promise<PreparedEngine> {
    const before = prepared()
    const image = await restoreImage(before.engine, before.ground.image)
    const now = prepared()
    if (now.ground.image === before.ground.image) ready = { ...now, ground: { ...now.ground, image } }
    return prepared()
  }

  async function reportEnd(containerId: string, endedAt: number | null): Promise<void> {
    const agentId = running.get(containerId)
    if (agentId === undefined) return
    running.delete(containerId)
    shares.release(agentId)
    const isOfMemory = memoryEnds.isOf(containerId, endedAt)
    const state = await inspectContainer(prepared(), containerId).catch(() => null)
    // A container that is gone altogether was removed by force, which ends its process by signal 9.
    const { code, outOfMemory } = state?.exit ?? { code: 137, outOfMemory: false }
    for (const listener of listeners) listener({ agentId, code, outOfMemory: outOfMemory && isOfMemory })
  }

  function onEvent(event: EngineEvent): void {
    const agentId = running.get(event.containerId)
    if (agentId === undefined) return
    memoryEnds.hear(event)
    // The kernel may have killed a program of the agent alone; only `die` is the end.
    if (event.action === 'oom') options.log.warn({ agentId }, 'a process in the sandbox ran out of memory')
    if (prepared().dialect.endActions.includes(event.action)) void reportEnd(event.containerId, event.at)
  }

  /**
   * One of an earlier life or release, or that the engine started anew, may have its name server open, and one of a
   * mesh that died may have the share of its start.
   */
  async function putRight(containerId: string, agentId: string): Promise<void> {
    const { engine, closeNames } = prepared()
    const inspected = await inspectedOf(engine, containerId)
    if (!inspected?.State.Running) return
    await closeNames(inspected.NetworkSettings.SandboxKey)
    if (shares.of(agentId) !== null) return
    await restoreShare(engine, inspected).catch((error: unknown) => {
      options.log.warn(
        { agentId, err: error },
        'agent keeps the processor share of its start until it is adopted',
      )
    })
  }

  /** Containers that run are adopted, put right first; those that ended while nobody listened are reported. */
  async function catchUp(): Promise<void> {
    const live = new Map<string, string>()
    for (const container of await listContainers(prepared().engine, tag)) {
      const agentId = container.Labels?.[labelKeys.agent]
      if (agentId !== undefined && container.State === 'running') live.set(container.Id, agentId)
    }
    await Promise.all([...live].map(([id, agentId]) => gate(() => putRight(id, agentId))))
    const ended = [...running.keys()].filter((id) => !live.has(id))
    for (const [id, agentId] of live) running.set(id, agentId)
    await Promise.all(ended.map((id) => reportEnd(id, null)))
  }

  function forget(agentId: string): void {
    for (const [id, owner] of running) if (owner === agentId) running.delete(id)
  }

  return {
    kind: 'docker',
    isolates: true,
    crossesMachines: false,
    browsers: createDockerBrowsers({ ...options, ...options.browser, prepared, volumes: profiles }),
    listenHost: () => prepared().network.gateway,
    meshAddress: () => prepared().network.gateway,
    networks: () => engineNetworks(prepared().engine, tag),

    async prepare({ progress, signal }) {
      const [engine, bundle] = await Promise.all([
        ensureEngine({ ...options, progress, signal }),
        bundleAgent({ entry: options.agentEntry, cacheDirectory: options.cacheDirectory }),
      ])
      const image = await ensureAgentImage({ ...options, engine, bundle: bundle.files, progress, signal })
      const worker = { engine, image: image.id, uid: options.uid, homeTag: tag }
      const dialect = await engineDialect(engine, options.recipeDirectory)
      const { meshPorts } = options
      const { holdsBridge } = dialect
      const network = await ensurePrivateNetwork(worker, { meshPorts, holdsBridge, signal })
      const { seccomp, ulimits, sysctls, logOptions } = dialect
      const first = ready === null
      const ground = {
        homeId: options.homeId,
        image: image.id,
        network,
        seccomp,
        ulimits,
        sysctls,
        logOptions,
      }
      const bound = ready?.bound ?? { kind: 'meter', why: 'volumes were not tried yet' }
      const names = await nameServerState(engine, options.uid)
      const closeNames = async (networkFile: string | null | undefined) => {
        const why = names.kind === 'shut' ? await closeNameServer(networkFile) : null
        if (why !== null)
          options.log.warn(
            { why },
            'the name server of a network of agents was not shut; a container can look up names of others there',
          )
      }
      ready = { engine, dialect, network, ground, bound, volumes, rungs, closeNames }
      if (!first) return
      await renameContainers(engine, options.homeId, tag)
      gate = createStartGate(startsPerCore * engine.cpus)
      shares = sharesOf(engine.cpus)
      for (const id of await leftovers(engine, tag)) await removeContainer(engine, id)
      await releaseHeld(engine, tag)
      programs = await findVolumePrograms(options.path)
      if (options.uid === 0) await Promise.all([volumes.sweep(), profiles.sweep()])
      const tried = await tryVolumes(engine, { uid: options.uid, programs, volumes, ground, signal })
      ready = { ...ready, bound: tried }
      if (tried.kind === 'meter') {
        options.log.warn(
          { why: tried.why },
          'no volume can bound the data of agents; it is counted, and an agent over its limit is stopped',
        )
        await warmPageCache(engine, { image: image.id, homeTag: tag, signal })
      }
      await new Promise<void>((resolve) => {
        watching ??= watchEngine(engine, {
          homeTag: tag,
          clock: options.clock,
          signal: closing.signal,
          onConnected: () => {
            lost = false
            rungs.forget()
            // A stream that ends in order is not told as lost, and the engine may be another one since.
            if (connectedBefore) for (const listener of backListeners) listener()
            connectedBefore = true
            return catchUp().finally(resolve)
          },
          onEvent,
          onLost: (error) => {
            if (!lost)
              options.log.warn(
                { err: error },
                'the connection to the container engine was lost; it is made again, and agents are looked at anew',
              )
            lost = true
            resolve()
          },
        })
      })
    },

    tryRung: async (rung) => rungs.tryIt(rung, await standing()),

    async checkIsolation({ meshPort, rung = 'container', signal }) {
      const to = await standing()
      const behind = await rungs.behind(rung, to)
      const { clock } = options
      return checkIsolation(to.engine, { ground: to.ground, homeTag: tag, meshPort, clock, behind, signal })
    },

    async start(spec) {
      // Before the gate: whoever waits for a turn there would keep others from their start.
      const turn =
        spec.isolation === 'microvm' && prepared().dialect.changesShares
          ? await shares.lendInTurn(spec.agentId, spec.cpu)
          : null
      const started = gate(async () => {
        forget(spec.agentId)
        return startContainer(await standing(), spec, {
          lend: () => (spec.isolation === 'microvm' ? turn : shares.lend(spec.agentId, spec.cpu)),
          release: () => shares.release(spec.agentId),
          onCreated: (id) => running.set(id, spec.agentId),
          onFailed: (id) => running.delete(id),
        })
      })
      // Also where it did not come so far as to have it.
      started.catch(() => shares.release(spec.agentId))
      return started
    },

    async endStartShare(agentId) {
      const share = shares.of(agentId)
      if (share !== null) return share.end()
      const { engine } = prepared()
      const inspected = await inspectedOf(engine, sandboxName(options.homeId, agentId))
      if (inspected?.State.Running) await restoreShare(engine, inspected)
    },

    async stop(agentId, { graceMs }) {
      forget(agentId)
      await stopContainer(prepared().engine, sandboxName(options.homeId, agentId), graceMs)
      // Not before: until it is gone it has what it was lent.
      shares.release(agentId)
    },

    async remove(agentId, { data }) {
      forget(agentId)
      const { engine } = prepared()
      const name = sandboxName(options.homeId, agentId)
      if (!data) await endMachine(engine, name)
      await removeContainer(engine, name)
      shares.release(agentId)
      if (!data) return
      await engine.docker
        .getVolume(volumeName(options.homeId, agentId))
        .remove()
        .catch(unlessStatus([404]))
      await volumes.remove(agentId)
    },

    inspect: (agentId) => inspectContainer(prepared(), sandboxName(options.homeId, agentId)),

    async list() {
      const to = prepared()
      const states = await Promise.all(
        (await listContainers(to.engine, tag)).map(async (container) => {
          const agentId = container.Labels?.[labelKeys.agent]
          if (agentId === undefined) return null
          if (container.State !== 'running') return inspectContainer(to, container.Id)
          const host = container.NetworkSettings?.Networks?.[to.network.name]?.IPAddress
          return host
            ? runningState({ agentId, labels: container.Labels ?? {}, host })
            : inspectContainer(to, container.Id)
        }),
      )
      return states.filter((state) => state !== null)
    },

    logs: (agentId, maxBytes) => readLogs(prepared().engine, sandboxName(options.homeId, agentId), maxBytes),

    measureUse: (agentIds) => measureContainers(prepared().engine, options.homeId, agentIds),

    dataBound: () => prepared().bound,

    async measureData(agentIds) {
      const { engine, ground } = await standing()
      const home = { homeId: options.homeId, homeTag: tag, image: ground.image }
      return measureVolumes(engine, home, agentIds)
    },

    readData: async (agentId, data) =>
      readContainerData(await standing(), { ...options, ...data, homeTag: tag, agentId }),
    writeData: async (agentId, tar, data) =>
      writeContainerData(await standing(), { ...options, ...data, homeTag: tag, agentId }, tar),

    onEngineBack(listener) {
      backListeners.add(listener)
      return () => backListeners.delete(listener)
    },

    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    async erase({ progress, signal }) {
      const { engine } = await findEngine(options)
      signal?.throwIfAborted()
      if (engine === null) progress('No container engine answers, so this home has nothing in one')
      else {
        running.clear()
        progress('Removing containers, their data and their network')
        await eraseHome(engine, { homeTag: tag, uid: options.uid })
      }
      programs = await findVolumePrograms(options.path)
      await profiles.erase()
      await volumes.erase()
      ready = null
    },

    async close() {
      closing.abort()
      await shares.close()
      await watching
    },
  }
}
