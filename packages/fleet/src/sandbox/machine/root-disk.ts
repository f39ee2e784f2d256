import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { labelKeys } from '../hardening/container-options.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { imageId } from '../image/known-images.ts'
import { runOnce } from '../engine/run-once.ts'
import { SandboxError } from '../sandbox-error.ts'
import { homeTag } from '../sandbox-spec.ts'

/** The time limit for building the root disk of virtual machines, in milliseconds. */
const makeTimeoutMs = 5 * 60_000

/**
 * A script that creates a disk with the files of the image and keeps their owners and modes. The disk has an eighth
 * more inodes and a sixteenth more space than needed.
 */
const makeScript = [
  'set -eu',
  'size=$(du -sm /srv | cut -f1)',
  'files=$(find /srv | wc -l)',
  'mke2fs -q -F -t ext4 -O ^has_journal -m 0 -b 4096 -N $((files + files / 8 + 64)) -d /srv "/out/$NAME" $((size + size / 16 + 24))M',
  'chmod 0644 "/out/$NAME"',
  // The file is synced before it is renamed: a power cut must not leave a partial disk under the final name.
  'sync "/out/$NAME"',
].join('\n')

/**
 * Creates the root file system of the agent image as a read-only disk for virtual machines, once for each image, in a
 * container without network. Deletes disks of images that the engine no longer has. Returns the disk's path.
 */
export async function ensureRootDisk(
  engine: Engine,
  of: {
    /** Id of the agents' image. */
    readonly image: string
    /** The image with the programs that create the disk. */
    readonly machineImage: string
    readonly homeId: string
    readonly cacheDirectory: string
    readonly progress: (step: string) => void
  },
): Promise<string> {
  const folder = await openDiskFolder(of.cacheDirectory)
  const path = join(folder, nameOf(of.image))
  if (await isThere(path)) return path
  of.progress('Building a disk from the agent image')
  const unfinished = `${nameOf(of.image)}.${process.pid}`
  const from = await engine.docker.createContainer({
    Image: of.image,
    Cmd: ['true'],
    Labels: labelsOf(of.homeId),
    HostConfig: { NetworkMode: 'none' },
  })
  try {
    const done = await runOnce(engine, {
      image: of.machineImage,
      command: ['sh', '-c', makeScript],
      env: [`NAME=${unfinished}`],
      labels: labelsOf(of.homeId),
      host: {
        NetworkMode: 'none',
        CapDrop: ['ALL'],
        // The container's root user needs this to read the folders of the image that belong to the agent.
        CapAdd: ['DAC_READ_SEARCH'],
        SecurityOpt: ['no-new-privileges'],
        Mounts: [{ Type: 'bind', Source: folder, Target: '/out' }],
      },
      user: '0:0',
      archive: { into: '/srv', tar: await from.export() },
      timeoutMs: makeTimeoutMs,
    })
    if (done.code !== 0)
      throw new SandboxError(
        'machine-disk-failed',
        `The disk from which virtual machines start could not be built: ${done.output.trim().slice(-400)}\nRepair: free space in ${folder}.`,
      )
    await rename(join(folder, unfinished), path)
  } finally {
    await from.remove({ force: true, v: true }).catch(() => undefined)
    await rm(join(folder, unfinished), { force: true })
  }
  await removeOthers(engine, folder)
  return path
}

/** Opens the folder of root disks, shared by all homes of this machine. Rejects if the folder cannot be created. */
export async function openDiskFolder(cacheDirectory: string): Promise<string> {
  const folder = join(cacheDirectory, 'machines')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}

async function removeOthers(engine: Engine, folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const digest = /^root-([0-9a-f]{64})\.ext4$/.exec(name)?.[1]
    if (digest === undefined || (await imageId(engine, `sha256:${digest}`)) !== null) continue
    await rm(join(folder, name), { force: true })
  }
}

function labelsOf(homeId: string): Record<string, string> {
  return { [labelKeys.home]: homeTag(homeId), [labelKeys.role]: 'trial' }
}

function nameOf(image: string): string {
  return `root-${image.replace(/^sha256:/, '')}.ext4`
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
