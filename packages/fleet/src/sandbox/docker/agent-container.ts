import { Readable } from 'node:stream'
import type Dockerode from 'dockerode'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import type { PrivateNetwork } from '../network/hold-bridge.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { DataBound, SandboxState } from '../sandbox-runtime.ts'
import { sandboxName, type SandboxSpec } from '../sandbox-spec.ts'
import type { StartShare } from '../start-shares.ts'
import { tarArchive, type TarEntry } from '../tar-archive.ts'
import type { LimitedVolumes } from '../volume/limited-volumes.ts'
import { openAgentDisk, openAgentVolume, type AgentVolume } from './agent-volume.ts'
import {
  containerOptions,
  labelKeys,
  volumeLabels,
  volumeName,
  type ContainerGround,
} from '../hardening/container-options.ts'
import { inspectSchema, stateOf, type InspectedContainer } from './container-state.ts'
import type { EngineDialect } from '../engine/engine-dialect.ts'
import { atStartShare, holdToShare } from './own-share.ts'
import type { Behind } from '../isolation/behind.ts'
import type { Rungs } from './rungs.ts'
import { seedEntries } from '../hardening/seed-entries.ts'
import { unlessStatus } from './unless-status.ts'

/** Minimum time for stopping a virtual machine, including the kill of an agent that does not end, milliseconds. */
const machineGraceMs = 30_000

/** The results of `prepare`. */
export interface PreparedEngine {
  readonly engine: Engine
  readonly dialect: EngineDialect
  readonly network: PrivateNetwork
  readonly ground: ContainerGround
  readonly bound: DataBound
  readonly volumes: LimitedVolumes
  readonly rungs: Rungs
  /** Blocks the engine's name server in a running container, if possible. */
  readonly closeNames: (networkFile: string | null | undefined) => Promise<void>
}

/** Starts one container and replaces any container that has the agent's name. */
export async function startContainer(
  prepared: PreparedEngine,
  spec: SandboxSpec,
  track: {
    /** Borrows processor time for this start; null if none is available. */
    readonly lend: () => StartShare | null
    /** Returns the borrowed share. */
    readonly release: () => void
    readonly onCreated: (id: string) => void
    readonly onFailed: (id: string) => void
  },
): Promise<SandboxState> {
  const { engine, dialect, ground, closeNames } = prepared
  const files = seedEntries(spec.files)
  let created: string | null = null
  let volume: AgentVolume | null = null
  try {
    const name = sandboxName(ground.homeId, spec.agentId)
    await endMachine(engine, name)
    await removeContainer(engine, name)
    const image = spec.image ?? ground.image
    const behind = await prepared.rungs.behind(spec.isolation, { ...prepared, ground: { ...ground, image } })
    // gVisor releases cannot change the processor share of a running container, so it gets no start share.
    const isLent = dialect.changesShares && behind.rung !== 'gvisor'
    const share = isLent ? track.lend() : null
    const startSpec = share === null ? spec : atStartShare(spec, share.cpu)
    const made = await layOut(prepared, startSpec, { behind, files })
    volume = made.volume
    const container = await engine.docker.createContainer(made.options)
    created = container.id
    if (made.archive !== null) await container.putArchive(made.archive, { path: '/data' })
    track.onCreated(container.id)
    await container.start()
    share?.begin(() => holdToShare(engine, container.id, spec.cpu))
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
    track.release()
    throw new SandboxError(
      'sandbox-start-failed',
      `The sandbox of ${spec.agentId} could not be started: ${reasonOf(cause)}\nRepair: run \`flotilla doctor\`, then start the agent again.`,
      { cause },
    )
  } finally {
    await volume?.release()
  }
}

interface LaidOut {
  readonly volume: AgentVolume
  readonly options: Dockerode.ContainerCreateOptions
  /**
   * The archive that the engine unpacks below `/data` before the start; null if there are no files, or if a virtual
   * machine unpacks the archive itself.
   */
  readonly archive: Readable | null
}

/** Opens the agent's volume and builds the options and the archive of its container. */
async function layOut(
  prepared: PreparedEngine,
  spec: SandboxSpec,
  { behind, files }: { readonly behind: Behind; readonly files: readonly TarEntry[] },
): Promise<LaidOut> {
  const { engine, dialect, ground, volumes, bound } = prepared
  const { homeId } = ground
  if (behind.rung === 'microvm') {
    const { machine } = behind
    const { machineOptions } = await import('../machine/index.ts')
    const disk = await openAgentDisk(engine, volumes, { homeId, spec })
    const options = await machineOptions({ ground, machine }, spec, { disk, files })
    const warnings = disk.refused === null ? [] : [disk.refused]
    return { volume: { limited: true, warnings, release: async () => undefined }, options, archive: null }
  }
  const volume = await openAgentVolume(engine, volumes, { homeId, spec, bound })
  try {
    if (dialect.createsVolumesFirst && !volume.limited) {
      await engine.docker.createVolume({
        Name: volumeName(homeId, spec.agentId),
        Labels: volumeLabels(homeId, spec.agentId),
      })
    }
  } catch (error) {
    await volume.release()
    throw error
  }
  const gvisor = behind.rung === 'gvisor' ? behind.gvisor : null
  return {
    volume,
    options: containerOptions(ground, spec, { limitedVolume: volume.limited, gvisor }),
    archive: files.length > 0 ? Readable.from(tarArchive(files)) : null,
  }
}

export async function inspectContainer(
  { engine, network }: PreparedEngine,
  idOrName: string,
): Promise<SandboxState | null> {
  const inspected = await inspectedOf(engine, idOrName)
  const state = inspected === null ? null : stateOf(inspected, network.name)
  if (!inspected || !state?.exit || state.labels[labelKeys.machine] === undefined) return state
  // If the kernel inside the virtual machine ran out of memory, only the machine's launcher can report that.
  const { machineEnd } = await import('../machine/index.ts')
  const end = await machineEnd(engine, inspected.Id)
  const outOfMemory = state.exit.outOfMemory || end?.how === 'memory'
  return { ...state, exit: { ...state.exit, outOfMemory } }
}

/** Inspects a container; returns null if the container does not exist. */
export async function inspectedOf(engine: Engine, idOrName: string): Promise<InspectedContainer | null> {
  try {
    return inspectSchema.parse(await engine.docker.getContainer(idOrName).inspect())
  } catch (error) {
    if (isStatus(error, 404)) return null
    throw error
  }
}

/** Stops a running container; a virtual machine gets time to flush its writes. A missing container is no error. */
export async function stopContainer(engine: Engine, name: string, graceMs: number): Promise<void> {
  const isMachine = (await inspectedOf(engine, name))?.Config.Labels?.[labelKeys.machine] !== undefined
  const seconds = Math.ceil(Math.max(graceMs, isMachine ? machineGraceMs : 0) / 1000)
  await engine.docker
    .getContainer(name)
    .stop({ t: seconds })
    .catch(unlessStatus([304, 404]))
}

/** Stops a virtual machine by a shutdown, because a forced removal would lose writes that it has not flushed. */
export async function endMachine(engine: Engine, name: string): Promise<void> {
  const found = await inspectedOf(engine, name)
  if (found?.State.Running && found.Config.Labels?.[labelKeys.machine] !== undefined)
    await stopContainer(engine, name, machineGraceMs)
}

/** Removes a container. Its volumes without a name are kept unless `volumes` is true. */
export async function removeContainer(
  engine: Engine,
  idOrName: string,
  { volumes = false }: { readonly volumes?: boolean } = {},
): Promise<void> {
  const container = engine.docker.getContainer(idOrName)
  await container.remove({ force: true, v: volumes }).catch(unlessStatus([404]))
}
