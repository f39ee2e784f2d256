import { chmod, chown, open, rename, rm, stat, truncate } from 'node:fs/promises'
import { fileCountMax, sandboxHardening } from '../sandbox-spec.ts'
import { SandboxError } from '../sandbox-error.ts'
import { lastWords, runCommand, type CommandResult } from '../run-command.ts'
import { ext4Size } from './ext4-size.ts'
import type { volumePrograms } from './volume-support.ts'
import { planSize, refusedWords } from './plan-size.ts'

/** The block size of the ext4 file system of agents' volumes, in bytes. */
const blockBytes = 4096
/** The time limit of a program that changes a volume without a full check, in milliseconds. */
const quickMs = 30_000
/** Time limit for a full check of a large volume on a slow disk, milliseconds. */
const checkMs = 10 * 60_000
const slowPrograms: readonly string[] = ['e2fsck', 'resize2fs']

/** Bits of the exit code of `e2fsck`. */
const fsck = { uncorrected: 4, failed: 8 } as const

/** Programs by name, as `findVolumePrograms` gives them. */
export type VolumePrograms = ReadonlyMap<string, string>

/**
 * Creates an ext4 file system of `limitBytes` in a sparse file, which uses only the disk space of its content. The
 * root folder belongs to the agent, there is no `lost+found`, and the file appears atomically.
 */
export async function createImage(
  programs: VolumePrograms,
  image: string,
  limitBytes: number,
): Promise<void> {
  const unfinished = `${image}.new`
  await rm(unfinished, { force: true })
  const file = await open(unfinished, 'wx', 0o600)
  await file.truncate(limitBytes)
  await file.close()
  const owner = `root_owner=${sandboxHardening.uid}:${sandboxHardening.uid}`
  await must(programs, 'mkfs.ext4', [
    '-qF',
    `-b${blockBytes}`,
    '-m0',
    `-N${fileCountMax(limitBytes)}`,
    `-E${owner},lazy_itable_init=1,lazy_journal_init=1,nodiscard`,
    unfinished,
  ])
  await must(programs, 'debugfs', ['-w', '-R', 'rmdir lost+found', unfinished])
  await must(programs, 'debugfs', ['-w', '-R', 'set_inode_field / mode 040700', unfinished])
  await chmod(unfinished, 0o600)
  await rename(unfinished, image)
}

/** Attaches the image to a loop device and returns the device. An existing device is reused. */
export async function attachImage(programs: VolumePrograms, image: string): Promise<string> {
  const done = await must(programs, 'losetup', ['--find', '--show', '--nooverlap', image])
  return done.stdout.trim()
}

/** Detaches a loop device: at once, or as soon as nothing is mounted from the device. */
export async function detachDevice(programs: VolumePrograms, device: string): Promise<void> {
  await run(programs, 'losetup', ['--detach', device])
}

/** Returns the loop devices of files in the folder, including files that were deleted. */
export async function devicesIn(programs: VolumePrograms, folder: string): Promise<readonly string[]> {
  const { stdout } = await run(programs, 'losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'])
  return stdout.split('\n').flatMap((line) => {
    const [, device, file] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? []
    return device && file?.startsWith(`${folder}/`) ? [device] : []
  })
}

/**
 * Repairs damage after a power loss and resizes the file system to its limit. Returns null, or why the file system
 * keeps another size. A file system in use is not touched. Rejects with `SandboxError` `volume-damaged`.
 */
export async function fitImage(
  programs: VolumePrograms,
  at: { readonly image: string; readonly device: string },
  limitBytes: number,
): Promise<string | null> {
  const checked = await run(programs, 'e2fsck', ['-p', at.device])
  if ((checked.code & fsck.failed) !== 0) return null
  if ((checked.code & fsck.uncorrected) !== 0) throw damaged(at.image, checked)
  const now = await ext4Size(at.image)
  if (now === null) throw damaged(at.image, checked)
  const plan = planSize(now, limitBytes)
  if (plan.kind === 'keep') return null
  if (plan.kind === 'refuse') return plan.reason
  if (plan.kind === 'grow') {
    await truncate(at.image, limitBytes)
    await must(programs, 'losetup', ['--set-capacity', at.device])
  }
  // A resize requires a full check, which creates a lost+found folder that is not wanted.
  const whole = await run(programs, 'e2fsck', ['-f', '-p', at.device])
  if ((whole.code & (fsck.failed | fsck.uncorrected)) !== 0) throw damaged(at.image, whole)
  const blocks = String(Math.floor(limitBytes / blockBytes))
  const sized = await run(programs, 'resize2fs', [at.device, blocks])
  await run(programs, 'debugfs', ['-w', '-R', 'rmdir lost+found', at.device])
  if (plan.kind === 'grow') return sized.code === 0 ? null : lastWords(sized)
  if (sized.code !== 0) return refusedWords(now, limitBytes)
  await truncate(at.image, limitBytes)
  await must(programs, 'losetup', ['--set-capacity', at.device])
  return null
}

/** A volume's file, which a virtual machine uses as a disk. */
export interface VolumeDisk {
  readonly path: string
  /** Size of the file in bytes, which an attacker in the machine cannot increase. */
  readonly fileBytes: number
  /** New size in blocks of 4 KB if the virtual machine must resize its file system; 0 if the size is right. */
  readonly blocks: number
  /** Why the file system keeps another size than requested, as text; null if it has that size. */
  readonly refused: string | null
}

/**
 * Gives the volume's file to the user that runs the virtual machine. The host reads only the size, because another
 * kernel wrote the content.
 */
export async function handDisk(image: string, limitBytes: number): Promise<VolumeDisk> {
  const now = await ext4Size(image)
  if (now === null) throw damaged(image, { code: 0, stdout: '', stderr: 'the file contains no file system' })
  const plan = planSize(now, limitBytes)
  if (plan.kind === 'grow') await truncate(image, limitBytes)
  await chown(image, sandboxHardening.uid, sandboxHardening.uid)
  const isChanged = plan.kind === 'grow' || plan.kind === 'shrink'
  return {
    path: image,
    fileBytes: (await stat(image)).size,
    blocks: isChanged ? Math.floor(limitBytes / blockBytes) : 0,
    refused: plan.kind === 'refuse' ? plan.reason : null,
  }
}

function damaged(image: string, result: CommandResult): SandboxError {
  return new SandboxError(
    'volume-damaged',
    `The volume ${image} is damaged: ${lastWords(result)}\nRepair: copy that file, then run e2fsck -f ${image}`,
  )
}

async function must(
  programs: VolumePrograms,
  name: (typeof volumePrograms)[number],
  args: readonly string[],
): Promise<CommandResult> {
  const done = await run(programs, name, args)
  if (done.code === 0) return done
  throw new SandboxError(
    'volume-failed',
    `${name} failed: ${lastWords(done)}\nRepair: check that the disk of the home has free space, and that loop devices are free (losetup -l).`,
  )
}

function run(
  programs: VolumePrograms,
  name: (typeof volumePrograms)[number],
  args: readonly string[],
): Promise<CommandResult> {
  const timeoutMs = slowPrograms.includes(name) ? checkMs : quickMs
  return runCommand(programs.get(name) ?? name, args, { timeoutMs })
}
