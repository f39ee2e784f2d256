import { Readable } from 'node:stream'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import type { PrivateNetwork } from '../network/hold-bridge.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { DataBound, SandboxState } from '../sandbox-runtime.ts'
import { sandboxName, type SandboxSpec } from '../sandbox-spec.ts'
import type { Gvisor } from '../gvisor/try-gvisor.ts'
import type { StartShares } from '../start-shares.ts'
import { tarArchive } from '../tar-archive.ts'
import type { LimitedVolumes } from '../volume/limited-volumes.ts'
import { openAgentVolume, type AgentVolume } from './agent-volume.ts'
import { containerOptions, volumeLabels, volumeName, type ContainerGround } from './container-options.ts'
import { inspectSchema, stateOf, type InspectedContainer } from './container-state.ts'
import type { EngineDialect } from './engine-dialect.ts'
import { atStartShare, holdToShare } from './own-share.ts'
import { seedEntries } from './seed-files.ts'
import { unlessStatus } from './unless-status.ts'

/** What `prepare` found or made. */
export interface PreparedEngine {
  readonly engine: Engine
  readonly dialect: EngineDialect
  readonly network: PrivateNetwork
  readonly ground: ContainerGround
  readonly bound: DataBound
  readonly volumes: LimitedVolumes
  readonly gvisor: Gvisor
  /** Takes away the engine's name server from a container that runs, where that can be done. */
  readonly closeNames: (networkFile: string | null | undefined) => Promise<void>
}

/** One container in the place of whatever stood under the agent's name. */
export async function startContainer(
  { engine, dialect, ground, volumes, bound, gvisor, closeNames }: PreparedEngine,
  spec: SandboxSpec,
  track: {
    readonly shares: StartShares
    readonly onCreated: (id: string) => void
    readonly onFailed: (id: string) => void
  },
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
    const behind = spec.isolation === 'gvisor' ? await gvisor.ground(engine, ground) : null
    // Releases of gVisor do not change the share of what runs.
    const share = dialect.changesShares && behind === null ? track.shares.lend(spec.agentId, spec.cpu) : null
    const asked = share === null ? spec : atStartShare(spec, share.cpu)
    const container = await docker.createContainer(
      containerOptions(ground, asked, { limitedVolume: volume.limited, gvisor: behind }),
    )
    created = container.id
    if (files.length > 0) await container.putArchive(Readable.from(tarArchive(files)), { path: '/data' })
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
    track.shares.release(spec.agentId)
    throw new SandboxError(
      'sandbox-start-failed',
      `The sandbox of ${spec.agentId} could not be started: ${reasonOf(cause)}\nRepair: run \`flotilla doctor\`, then start the agent again.`,
      { cause },
    )
  } finally {
    await volume?.release()
  }
}

export async function inspectContainer(
  { engine, network }: PreparedEngine,
  idOrName: string,
): Promise<SandboxState | null> {
  const inspected = await inspectedOf(engine, idOrName)
  return inspected === null ? null : stateOf(inspected, network.name)
}

/** What the engine tells of a container; null where there is none. */
export async function inspectedOf(engine: Engine, idOrName: string): Promise<InspectedContainer | null> {
  try {
    return inspectSchema.parse(await engine.docker.getContainer(idOrName).inspect())
  } catch (error) {
    if (isStatus(error, 404)) return null
    throw error
  }
}

export async function removeContainer(engine: Engine, idOrName: string): Promise<void> {
  const container = engine.docker.getContainer(idOrName)
  await container.remove({ force: true, v: false }).catch(unlessStatus([404]))
}
