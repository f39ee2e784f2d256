import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { isDiskFull, storageFaultOf } from '@flotilla/foundation/storage'
import { whyOf } from './why-of.ts'

/** The facts about a disk that is too full for a write to `folder`. */
export interface FullDisk {
  readonly folder: string
  readonly repair: string
}

/**
 * Returns the error unchanged, or a problem with the name of the disk: `disk-full` if the error says that the disk is
 * full, `storage-failing` if it cannot be written, as one that became read-only.
 */
export async function namingDisk(error: unknown, { folder, repair }: FullDisk): Promise<unknown> {
  const isTooLarge = error instanceof Error && 'code' in error && error.code === 'EFBIG'
  if (isFailedWrite(error))
    return new Problem('storage-failing', {
      detail: `the disk of ${folder} cannot be written: ${whyOf(error)} (${await diskWords(folder)})`,
      repair: `Check the disk of ${folder}: whether it is mounted read-only, or reports errors.`,
      cause: error,
    })
  if (!isTooLarge && !isDiskFull(error)) return error
  const detail = isTooLarge
    ? `the file system of ${folder} does not allow a file of this size`
    : `the disk of ${folder} is full (${await diskWords(folder)})`
  return new Problem('disk-full', { detail, repair, cause: error })
}

/** Whether the storage failed at anything but a read, which may be of a file on another disk. */
function isFailedWrite(error: unknown): error is Error {
  const isSystems = error instanceof Error && 'syscall' in error && error.syscall !== 'read'
  return isSystems && storageFaultOf(error) === 'storage-failing'
}

/** The mount point of a folder's file system, and its free space. */
export async function diskWords(folder: string): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return `file system mounted at ${await mountOf(folder)}, ${inMb(bavail * bsize)} free`
  } catch {
    return 'the file system of the folder does not answer'
  }
}

async function mountOf(folder: string): Promise<string> {
  const { dev } = await stat(folder)
  let mount = folder
  while (dirname(mount) !== mount && (await stat(dirname(mount))).dev === dev) mount = dirname(mount)
  return mount
}

/** Throws the Problem `disk-full` if the disk of `folder` has less than `bytes` free, the mesh's reserve. */
export async function requireFree(bytes: number, { folder, repair }: FullDisk): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= bytes) return
  throw new Problem('disk-full', {
    detail: `the disk of ${folder} is almost full (${await diskWords(folder)}); ${inMb(bytes)} must stay free for the mesh`,
    repair,
  })
}

export const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`
