import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import { SandboxError } from '../sandbox-error.ts'
import type { DataBound } from '../sandbox-runtime.ts'
import type { SandboxSpec } from '../sandbox-spec.ts'
import type { LimitedVolumes } from '../volume/limited-volumes.ts'
import type { VolumeDisk } from '../volume/volume-image.ts'
import { volumeLabels, volumeName } from '../hardening/container-options.ts'

const volumeSchema = z.looseObject({ Options: z.record(z.string(), z.string()).nullish() })

/** Forbids device files and setuid programs, returns freed space to the disk, and remounts read-only on errors. */
const mountOptions = 'nodev,nosuid,noatime,discard,errors=remount-ro'

/** An agent's volume in the engine, ready to be mounted by the agent's container. */
export interface AgentVolume {
  readonly limited: boolean
  readonly warnings: readonly string[]
  /** Detaches the volume's loop device. Called once the container has mounted the volume, or will never do so. */
  release(): Promise<void>
}

export type VolumeSpec = Pick<SandboxSpec, 'agentId' | 'dataLimitBytes'>

const plain: AgentVolume = { limited: false, warnings: [], release: async () => undefined }

/**
 * Creates the engine's volume of an agent (S7). For existing data its form is kept: a volume without a limit stays
 * unlimited, and data in a file of fixed size is started with that file or not at all. Only the volume of a new agent
 * depends on what this machine supports now.
 */
export async function openAgentVolume(
  engine: Engine,
  volumes: LimitedVolumes,
  options: {
    readonly homeId: string
    readonly spec: VolumeSpec
    readonly bound: DataBound
    /** Name and labels of the volume in the engine, if the volume holds something else than the agent's data. */
    readonly as?: { readonly name: string; readonly labels: Record<string, string> }
  },
): Promise<AgentVolume> {
  const { homeId, spec, bound } = options
  const { agentId } = spec
  const { name, labels } = options.as ?? {
    name: volumeName(homeId, agentId),
    labels: volumeLabels(homeId, agentId),
  }
  const device = await deviceOf(engine, name)
  const limitedBefore = typeof device === 'string' || volumes.has(agentId)
  if (device === null || (device === undefined && !limitedBefore && bound.kind === 'meter')) return plain
  if (bound.kind === 'meter') throw outOfReach(agentId, bound.why)
  if (typeof device === 'string' && !volumes.has(agentId)) throw imageGone(agentId, name)
  const open = await volumes.open(agentId, spec.dataLimitBytes)
  try {
    if (device !== volumes.linkOf(agentId)) {
      // The home was moved, so the link has a new path. The old volume entry in the engine is only a reference.
      if (typeof device === 'string') await engine.docker.getVolume(name).remove()
      await engine.docker.createVolume({
        Name: name,
        Driver: 'local',
        DriverOpts: { type: 'ext4', device: volumes.linkOf(agentId), o: mountOptions },
        Labels: labels,
      })
    }
  } catch (error) {
    await open.release()
    throw error
  }
  return { limited: true, warnings: open.refused === null ? [] : [open.refused], release: open.release }
}

/**
 * Returns the file of an agent's volume as the disk of its machine (S7). Data in a folder of the engine has no such
 * file.
 */
export async function openAgentDisk(
  engine: Engine,
  volumes: LimitedVolumes,
  { homeId, spec }: { readonly homeId: string; readonly spec: VolumeSpec },
): Promise<VolumeDisk> {
  const { agentId, dataLimitBytes } = spec
  const name = volumeName(homeId, agentId)
  const device = await deviceOf(engine, name)
  if (device === null)
    throw new SandboxError(
      'volume-no-disk',
      `The data of ${agentId} is in a volume without a fixed size, which a virtual machine cannot use as its disk.\nRepair: save the fleet with flotilla backup, delete the agent, and restore it from the backup; or run the agent at another isolation level.`,
    )
  if (device !== undefined && !volumes.has(agentId)) throw imageGone(agentId, name)
  return volumes.asDisk(agentId, dataLimitBytes)
}

/**
 * Returns the path that the engine mounts as the volume; null if the engine keeps the data in its own folder;
 * undefined if there is no volume.
 */
async function deviceOf(engine: Engine, name: string): Promise<string | null | undefined> {
  try {
    const volume = volumeSchema.parse(await engine.docker.getVolume(name).inspect())
    return volume.Options?.['device'] ?? null
  } catch (error) {
    if (isStatus(error, 404)) return undefined
    throw error
  }
}

function outOfReach(agentId: string, why: string): SandboxError {
  return new SandboxError(
    'volume-out-of-reach',
    `The data of ${agentId} is in a volume of a fixed size, which cannot be attached now: ${why}.\nRepair: run Flotilla as before (as root, beside Docker), or delete the agent.`,
  )
}

function imageGone(agentId: string, name: string): SandboxError {
  return new SandboxError(
    'volume-missing',
    `The file that holds the data of ${agentId} is not in data/volumes of the home any more.\nRepair: put it back from a copy; or, to begin with empty data, run: docker volume rm ${name}`,
  )
}
