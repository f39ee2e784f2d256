import { Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../platform/index.ts'
import {
  containerOptions,
  labelKeys,
  volumeLabels,
  volumeName,
  type ContainerGround,
} from './docker/container-options.ts'
import { inspectSchema, logText, runningState, stateOf } from './docker/container-state.ts'
import { openAgentVolume, type AgentVolume } from './docker/agent-volume.ts'
import { eraseHome } from './docker/erase-home.ts'
import { engineDialect, type EngineDialect } from './docker/engine-dialect.ts'
import { seedEntries } from './docker/seed-files.ts'
import { leftovers, listContainers, renameContainers } from './docker/list-containers.ts'
import { measureVolumes } from './docker/measure-volumes.ts'
import { tryVolumes } from './docker/try-volumes.ts'
import { warmPageCache } from './docker/warm-page-cache.ts'
import { createRestoreImage } from './docker/restore-image.ts'
import { unlessStatus } from './docker/unless-status.ts'
import { watchEngine, type EngineEvent } from './docker/watch-ends.ts'
import type { Engine } from './engine/connect-engine.ts'
import { ensureEngine } from './engine/ensure-engine.ts'
import { findEngine } from './engine/find-engine.ts'
import { ensureAgentImage } from './image/agent-image.ts'
import { bundleAgent } from './image/bundle-agent.ts'
import { isStatus } from './image/engine-images.ts'
import { closeNameServer, nameServerState } from './network/close-name-server.ts'
import type { PrivateNetwork } from './network/hold-bridge.ts'
import { engineNetworks, ensurePrivateNetwork } from './network/private-network.ts'
import { reasonOf, SandboxError } from './sandbox-error.ts'
import type { DataBound, SandboxEnd, SandboxRuntime, SandboxState } from './sandbox-runtime.ts'
import { homeTag, sandboxName, type SandboxSpec } from './sandbox-spec.ts'
import { createStartGate } from './start-gate.ts'
import { tarArchive } from './tar-archive.ts'
import { createLimitedVolumes, type LimitedVolumes } from './volume/limited-volumes.ts'
import { findVolumePrograms } from './volume/volume-facts.ts'
import type { VolumePrograms } from './volume/volume-image.ts'
import { verifyWalls } from './isolation/verify-walls.ts'

const startsPerCore = 2
/** Asked of the engine's log at most; a line is bounded by the log's own rotation. */
const logLinesMax = 2_000

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
  /** Where the pinned Node is looked up from: the repository's root. */
  readonly packageDirectory: string
  /** The agent's entry file; bundled when its sources changed. */
  readonly agentEntry: string
  readonly baseImage?: string | undefined
  /** Where volumes of a fixed size are kept. Belongs to one home. */
  readonly volumesFolder: string
  /** PATH of the mesh: where the programs that make volumes are found. */
  readonly path: string
  /** Ports of the agent door and the forward proxy: all that agents may reach on the host. */
  readonly doorPorts: readonly number[]
  readonly clock: Clock
  readonly log: Log
}

/** What `prepare` found or made. */
interface Ready {
  readonly engine: Engine
  readonly dialect: EngineDialect
  readonly network: PrivateNetwork
  readonly ground: ContainerGround
  readonly bound: DataBound
  readonly volumes: LimitedVolumes
  /** Takes away the engine's name server from a container that runs, where that can be done. */
  readonly closeNames: (networkFile: string | null | undefined) => Promise<void>
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
  let programs: VolumePrograms = new Map()
  const volumes = createLimitedVolumes({ folder: options.volumesFolder, programs: () => programs })
  let ready: Ready | null = null
  let watching: Promise<void> | null = null
  let lost = false
  let connectedBefore = false
  let gate = createStartGate(startsPerCore)

  function prepared(): Ready {
    if (ready) return ready
    throw new SandboxError(
      'not-prepared',
      'The container engine was not prepared yet.\nRepair: call prepare first.',
    )
  }

  /** With its image in the engine. */
  async function standing(): Promise<Ready> {
    const before = prepared()
    const image = await restoreImage(before.engine, before.ground.image)
    const now = prepared()
    if (now.ground.image === before.ground.image) ready = { ...now, ground: { ...now.ground, image } }
    return prepared()
  }

  async function reportEnd(containerId: string): Promise<void> {
    const agentId = running.get(containerId)
    if (agentId === undefined) return
    running.delete(containerId)
    const state = await inspectContainer(prepared(), containerId).catch(() => null)
    // A container that is gone altogether was removed by force, which ends its process by signal 9.
    const exit = state?.exit ?? { code: 137, outOfMemory: false }
    for (const listener of listeners) listener({ agentId, ...exit })
  }

  function onEvent(event: EngineEvent): void {
    const agentId = running.get(event.containerId)
    if (agentId === undefined) return
    // The kernel may have killed a program of the agent alone; only `die` is the end.
    if (event.action === 'oom') options.log.warn({ agentId }, 'a process in the sandbox ran out of memory')
    if (prepared().dialect.endActions.includes(event.action)) void reportEnd(event.containerId)
  }

  /** One of an earlier life or release, or that the engine started anew, may have its name server open. */
  async function closeNamesIn(containerId: string): Promise<void> {
    const { engine, closeNames } = prepared()
    const found = await engine.docker
      .getContainer(containerId)
      .inspect()
      .catch(unlessStatus([404]))
    if (!found) return
    const { State, NetworkSettings } = inspectSchema.parse(found)
    if (State.Running) await closeNames(NetworkSettings.SandboxKey)
  }

  /** Containers that run are adopted, closed to names first; those that ended while nobody listened are reported. */
  async function catchUp(): Promise<void> {
    const live = new Map<string, string>()
    for (const container of await listContainers(prepared().engine, tag)) {
      const agentId = container.Labels?.[labelKeys.agent]
      if (agentId !== undefined && container.State === 'running') live.set(container.Id, agentId)
    }
    await Promise.all([...live.keys()].map((id) => gate(() => closeNamesIn(id))))
    const ended = [...running.keys()].filter((id) => !live.has(id))
    for (const [id, agentId] of live) running.set(id, agentId)
    await Promise.all(ended.map(reportEnd))
  }

  function forget(agentId: string): void {
    for (const [id, owner] of running) if (owner === agentId) running.delete(id)
  }

  return {
    kind: 'docker',
    isolates: true,
    doorHost: () => prepared().network.gateway,
    networks: () => engineNetworks(prepared().engine, prepared().network.name),

    async prepare({ progress, signal }) {
      const [engine, bundle] = await Promise.all([
        ensureEngine({ ...options, progress, signal }),
        bundleAgent({ entry: options.agentEntry, cacheDirectory: options.cacheDirectory }),
      ])
      const image = await ensureAgentImage({ ...options, engine, bundle: bundle.files, progress, signal })
      const worker = { engine, image: image.id, uid: options.uid, homeTag: tag }
      const dialect = await engineDialect(engine, options.recipeDirectory)
      const { holdsBridge } = dialect
      const network = await ensurePrivateNetwork(worker, {
        doorPorts: options.doorPorts,
        holdsBridge,
        signal,
      })
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
        if (why !== null) options.log.warn({ why }, 'names of other containers can be looked up in one')
      }
      ready = { engine, dialect, network, ground, bound, volumes, closeNames }
      if (!first) return
      await renameContainers(engine, options.homeId, tag)
      gate = createStartGate(startsPerCore * engine.cpus)
      for (const id of await leftovers(engine, tag)) await removeContainer(engine, id)
      programs = await findVolumePrograms(options.path)
      if (options.uid === 0) await volumes.sweep()
      const [tried] = await Promise.all([
        tryVolumes(engine, { uid: options.uid, programs, volumes, ground, signal }),
        warmPageCache(engine, { image: image.id, homeTag: tag, signal }),
      ])
      ready = { ...ready, bound: tried }
      if (tried.kind === 'meter') options.log.warn({ why: tried.why }, 'the data of agents is metered')
      await new Promise<void>((resolve) => {
        watching ??= watchEngine(engine, {
          homeTag: tag,
          clock: options.clock,
          signal: closing.signal,
          onConnected: () => {
            lost = false
            // A stream that ends in order is not told as lost, and the engine may be another one since.
            if (connectedBefore) for (const listener of backListeners) listener()
            connectedBefore = true
            return catchUp().finally(resolve)
          },
          onEvent,
          onLost: (error) => {
            if (!lost) options.log.warn({ err: error }, 'the connection to the container engine was lost')
            lost = true
            resolve()
          },
        })
      })
    },

    async verifyWalls({ doorPort, signal }) {
      const { engine, ground } = await standing()
      return verifyWalls(engine, { ground, homeTag: tag, doorPort, clock: options.clock, signal })
    },

    start: (spec) =>
      gate(async () => {
        forget(spec.agentId)
        return startContainer(await standing(), spec, {
          onCreated: (id) => running.set(id, spec.agentId),
          onFailed: (id) => running.delete(id),
        })
      }),

    async stop(agentId, { graceMs }) {
      forget(agentId)
      const container = prepared().engine.docker.getContainer(sandboxName(options.homeId, agentId))
      await container.stop({ t: Math.ceil(graceMs / 1000) }).catch(unlessStatus([304, 404]))
    },

    async remove(agentId, { data }) {
      forget(agentId)
      const { engine } = prepared()
      await removeContainer(engine, sandboxName(options.homeId, agentId))
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

    async logs(agentId, maxBytes) {
      const container = prepared().engine.docker.getContainer(sandboxName(options.homeId, agentId))
      const raw = await container
        .logs({ stdout: true, stderr: true, follow: false, tail: logLinesMax })
        .catch((error: unknown) => {
          if (isStatus(error, 404)) return Buffer.alloc(0)
          throw error
        })
      return Buffer.from(logText(Buffer.from(raw)))
        .subarray(-maxBytes)
        .toString('utf8')
    },

    dataBound: () => prepared().bound,

    async measureData(agentIds) {
      const { engine, ground } = await standing()
      const home = { homeId: options.homeId, homeTag: tag, image: ground.image }
      return measureVolumes(engine, home, agentIds)
    },

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
      await volumes.erase()
      ready = null
    },

    async close() {
      closing.abort()
      await watching
    },
  }
}

async function startContainer(
  { engine, dialect, ground, volumes, bound, closeNames }: Ready,
  spec: SandboxSpec,
  track: { readonly onCreated: (id: string) => void; readonly onFailed: (id: string) => void },
): Promise<SandboxState> {
  const { docker } = engine
  const files = seedEntries(spec.files)
  let created: string | null = null
  let volume: AgentVolume | null = null
  try {
    await removeContainer(engine, sandboxName(ground.homeId, spec.agentId))
    volume = await openAgentVolume(engine, volumes, { homeId: ground.homeId, spec, bound })
    if (dialect.createsVolumesFirst && !volume.limited) {
      await docker.createVolume({
        Name: volumeName(ground.homeId, spec.agentId),
        Labels: volumeLabels(ground.homeId, spec.agentId),
      })
    }
    const container = await docker.createContainer(containerOptions(ground, spec, volume.limited))
    created = container.id
    if (files.length > 0) await container.putArchive(Readable.from(tarArchive(files)), { path: '/data' })
    track.onCreated(container.id)
    await container.start()
    const inspected = inspectSchema.parse(await container.inspect())
    await closeNames(inspected.NetworkSettings.SandboxKey)
    const state = stateOf(inspected, ground.network.name)
    if (state === null) throw new TypeError('a container without its label')
    return volume.warnings.length === 0 ? state : { ...state, warnings: volume.warnings }
  } catch (cause) {
    if (created !== null) {
      track.onFailed(created)
      await removeContainer(engine, created).catch(() => undefined)
    }
    throw new SandboxError(
      'sandbox-start-failed',
      `The sandbox of ${spec.agentId} could not be started: ${reasonOf(cause)}\nRepair: run \`flotilla doctor\`, then start the agent again.`,
      { cause },
    )
  } finally {
    await volume?.release()
  }
}

async function inspectContainer({ engine, network }: Ready, idOrName: string): Promise<SandboxState | null> {
  try {
    return stateOf(inspectSchema.parse(await engine.docker.getContainer(idOrName).inspect()), network.name)
  } catch (error) {
    if (isStatus(error, 404)) return null
    throw error
  }
}

async function removeContainer(engine: Engine, idOrName: string): Promise<void> {
  const container = engine.docker.getContainer(idOrName)
  await container.remove({ force: true, v: false }).catch(unlessStatus([404]))
}
