import { SandboxError } from '../sandbox-error.ts'
import type { SandboxEnd } from '../sandbox-runtime.ts'
import { homeTag } from '../sandbox-spec.ts'
import { createStartGate } from '../start-gate.ts'
import { createStartShares } from '../start-shares.ts'
import { createLimitedVolumes, profileVolumesFolder } from '../volume/limited-volumes.ts'
import type { VolumePrograms } from '../volume/volume-image.ts'
import type { PreparedEngine } from './agent-container.ts'
import type { DockerRuntimeOptions } from './docker-options.ts'
import { createMemoryEnds } from './memory-ends.ts'
import { createRestoreImage } from './restore-image.ts'
import type { RestoreImage } from './restore-image.ts'
import { createRungs } from './rungs.ts'

const startsPerCore = 2

/** The state of one home in the container engine, as this process knows it. */
export interface DockerHome {
  readonly options: DockerRuntimeOptions
  readonly tag: string
  readonly closing: AbortController
  readonly restoreImage: RestoreImage
  readonly rungs: ReturnType<typeof createRungs>
  readonly volumes: ReturnType<typeof createLimitedVolumes>
  /** Volumes of browsers. */
  readonly profiles: ReturnType<typeof createLimitedVolumes>
  readonly ends: ContainerEnds
  readonly link: EngineLink
  /** Bounds how many starts run at once, and lends start shares. */
  starts: StartBounds
  /** The programs on this machine that create volumes. */
  readonly found: { programs: VolumePrograms }
  /** The result of `prepare`; null before `prepare` and after `erase`. */
  ready: PreparedEngine | null
}

export interface ContainerEnds {
  /** Running containers whose end was not requested, by id, with the agent of each. */
  readonly running: Map<string, string>
  readonly listeners: Set<(end: SandboxEnd) => void>
  readonly memoryEnds: ReturnType<typeof createMemoryEnds>
}

/** The stream of the engine's events. */
export interface EngineLink {
  readonly backListeners: Set<() => void>
  watching: Promise<void> | null
  isLost: boolean
  /**
   * True once connected. A stream that the engine ended in order is not reported as lost, although the engine may
   * have changed before the next connection.
   */
  wasConnected: boolean
}

export interface StartBounds {
  readonly gate: ReturnType<typeof createStartGate>
  readonly shares: ReturnType<typeof createStartShares>
}

export function makeDockerHome(options: DockerRuntimeOptions): DockerHome {
  const closing = new AbortController()
  const found: DockerHome['found'] = { programs: new Map() }
  const programs = () => found.programs
  return {
    options,
    tag: homeTag(options.homeId),
    closing,
    restoreImage: createRestoreImage(options, closing.signal),
    rungs: createRungs(options),
    volumes: createLimitedVolumes({ folder: options.volumesFolder, programs }),
    profiles: createLimitedVolumes({ folder: profileVolumesFolder(options.volumesFolder), programs }),
    ends: { running: new Map(), listeners: new Set(), memoryEnds: createMemoryEnds() },
    link: { backListeners: new Set(), watching: null, isLost: false, wasConnected: false },
    starts: startBounds(options, 1),
    found,
    ready: null,
  }
}

export function startBounds(options: DockerRuntimeOptions, processors: number): StartBounds {
  return {
    gate: createStartGate(startsPerCore * processors),
    shares: createStartShares({ ...options, processors }),
  }
}

/** Throws `SandboxError` `not-prepared`. */
export function preparedEngine({ ready }: Pick<DockerHome, 'ready'>): PreparedEngine {
  if (ready) return ready
  throw new SandboxError(
    'not-prepared',
    'The container engine is not prepared yet.\nRepair: restart the mesh with flotilla stop and flotilla start -d.',
  )
}

/** Returns the prepared engine, after a rebuild of the agent image if the engine lacks that image. */
export async function engineWithImage(home: DockerHome): Promise<PreparedEngine> {
  const before = preparedEngine(home)
  const image = await home.restoreImage(before.engine, before.ground.image)
  const now = preparedEngine(home)
  if (now.ground.image === before.ground.image) home.ready = { ...now, ground: { ...now.ground, image } }
  return preparedEngine(home)
}

/** Marks later ends of the agent's containers as requested. */
export function expectEnd({ ends: { running } }: Pick<DockerHome, 'ends'>, agentId: string): void {
  for (const [id, owner] of running) if (owner === agentId) running.delete(id)
}
