import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ext4Size } from './ext4-size.ts'
import { createStartGate } from '../start-gate.ts'
import {
  attachImage,
  createImage,
  detachDevice,
  devicesIn,
  fitImage,
  handDisk,
  type VolumeDisk,
  type VolumePrograms,
} from './volume-image.ts'

/** The maximum number of volumes created or attached at once; each needs a few short programs. */
const atOnce = 4

/**
 * Volumes of a fixed size, one file per agent.
 *
 * - V1 The engine mounts a volume from a link whose path never changes; the link points to a loop device
 *   only while a container is being started, because device numbers are reused.
 * - V2 A device is detached as soon as the container has its mount. The kernel frees the device with the last
 *   mount, so no device outlives its container. A mesh that is killed leaves at most the device of one start, which
 *   the next start detaches.
 * - V3 Data is deleted only by `remove` and `erase`.
 */
export interface LimitedVolumes {
  /** Returns the path from which the engine mounts an agent's volume. */
  linkOf(agentId: string): string
  has(agentId: string): boolean
  /** Returns the path of the agent's volume file, whether the file exists or not. */
  pathOf(agentId: string): string
  /**
   * Gives the agent's volume file to a virtual machine, which mounts the file itself. Creates the file if it is
   * missing. The host reads only the size, because another kernel wrote the content.
   */
  asDisk(agentId: string, limitBytes: number): Promise<VolumeDisk>
  /** Returns whether a virtual machine was the last to use the volume file. */
  isOfMachine(agentId: string): boolean
  /**
   * Creates the volume if it is missing, and resizes it to its limit. The caller calls `release` once a container has
   * mounted it.
   */
  open(agentId: string, limitBytes: number): Promise<OpenVolume>
  remove(agentId: string): Promise<void>
  /** Detaches loop devices that an earlier mesh process did not detach. */
  sweep(): Promise<void>
  erase(): Promise<void>
}

export interface OpenVolume {
  /** Why the volume does not have the requested size, as text; null if it has. */
  readonly refused: string | null
  release(): Promise<void>
}

export function createLimitedVolumes(options: {
  /** The folder for volumes in the home, which only the owner can access. */
  readonly folder: string
  readonly programs: () => VolumePrograms
}): LimitedVolumes {
  const { folder } = options
  const gate = createStartGate(atOnce)
  const nameOf = (agentId: string) => Buffer.from(agentId, 'utf8').toString('hex')
  const imageOf = (agentId: string) => join(folder, `${nameOf(agentId)}.ext4`)
  const linkOf = (agentId: string) => join(folder, `${nameOf(agentId)}.device`)
  const markOf = (agentId: string) => join(folder, `${nameOf(agentId)}.machine`)

  async function sweep(): Promise<void> {
    const programs = options.programs()
    for (const device of await devicesIn(programs, folder)) await detachDevice(programs, device)
    for (const name of await readdir(folder).catch(() => [])) {
      if (/\.(device|new|next)$/.test(name)) await rm(join(folder, name), { force: true })
    }
  }

  return {
    linkOf,
    has: (agentId) => existsSync(imageOf(agentId)),
    pathOf: imageOf,
    open: (agentId, limitBytes) =>
      gate(async () => {
        const programs = options.programs()
        const [image, link] = [imageOf(agentId), linkOf(agentId)]
        await mkdir(folder, { recursive: true, mode: 0o700 })
        if (!existsSync(image)) await createImage(programs, image, limitBytes)
        await rm(markOf(agentId), { force: true })
        const device = await attachImage(programs, image)
        const release = async () => {
          await rm(link, { force: true }) // V1
          await detachDevice(programs, device) // V2
        }
        try {
          const refused = await fitImage(programs, { image, device }, limitBytes)
          await rm(`${link}.next`, { force: true })
          await symlink(device, `${link}.next`)
          await rename(`${link}.next`, link)
          return { refused, release }
        } catch (error) {
          await release()
          throw error
        }
      }),
    asDisk: (agentId, limitBytes) =>
      gate(async () => {
        const image = imageOf(agentId)
        await mkdir(folder, { recursive: true, mode: 0o700 })
        if (!existsSync(image)) await createImage(options.programs(), image, limitBytes)
        await writeFile(markOf(agentId), '', { mode: 0o600 })
        return handDisk(image, limitBytes)
      }),
    isOfMachine: (agentId) => existsSync(markOf(agentId)),
    remove: async (agentId) => {
      await rm(markOf(agentId), { force: true })
      await rm(linkOf(agentId), { force: true })
      await rm(imageOf(agentId), { force: true })
    },
    sweep,
    erase: async () => {
      await sweep()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the folder of the browser profiles' volumes, inside the folder of agents' volumes. */
export function profileVolumesFolder(volumesFolder: string): string {
  return join(volumesFolder, 'browsers')
}

/** Lists the volumes in a home's folder; empty if the folder is missing. */
export async function listVolumes(
  folder: string,
): Promise<readonly { readonly agentId: string; readonly path: string; readonly sizeBytes: number }[]> {
  const found: { agentId: string; path: string; sizeBytes: number }[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith('.ext4')) continue
    const size = await ext4Size(join(folder, name))
    const agentId = Buffer.from(name.slice(0, -'.ext4'.length), 'hex').toString('utf8')
    if (size) found.push({ agentId, path: join(folder, name), sizeBytes: size.sizeBytes })
  }
  return found
}
