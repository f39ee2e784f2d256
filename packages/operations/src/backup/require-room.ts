import { mkdir, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '@flotilla/foundation/config'
import type { BackupSecrets } from './entry-path.ts'
import { diskWords, inMb } from './full-disk.ts'
import { listHomeFiles } from './list-home-files.ts'

/** Space that must stay free in addition to the written data. */
const spareBytes = 16 * 1024 * 1024

export interface Room {
  readonly free: number
  /** An id of the disk, equal for folders on the same disk. */
  readonly disk: string
}
export type RoomIn = (folder: string) => Promise<Room>

export const roomOnDisk: RoomIn = async (folder) => {
  const { bavail, bsize } = await statfs(folder).catch((error: unknown) => {
    // The folder is not created: if its disk is not mounted, the backup would fill the disk below it.
    throw new Problem('not-found', {
      detail: `the folder ${folder} cannot be used: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: 'Create the folder (mkdir -p), or mount the disk that it belongs to; nothing was written.',
    })
  })
  return { free: bavail * bsize, disk: String((await stat(folder)).dev) }
}

export interface RoomRequest extends BackupSecrets {
  readonly paths: DataPaths
  readonly file: string
  /** Bytes that the data of all agents uses on the disk; null if they cannot be counted in advance. */
  readonly agentsBytes: number | null
  readonly roomIn: RoomIn
}

/**
 * Checks the free space. The snapshot needs space beside the home, for the database and for copies of files on other
 * file systems; the backup file needs space for everything. Returns the size of the content, or null if unknown.
 * Problem `disk-full`.
 */
export async function requireRoom(request: RoomRequest): Promise<number | null> {
  const { paths, agentsBytes, roomIn } = request
  const sizes = [paths.database, `${paths.database}-wal`].map((path) =>
    stat(path).then(
      (found) => found.size,
      () => 0,
    ),
  )
  const database = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  const { files } = listHomeFiles(paths, request)
  const { dev } = await stat(paths.home, { bigint: true })
  const sum = (some: typeof files) => some.reduce((total, { bytes }) => total + bytes, 0)
  const cut = database + sum(files.filter(({ device }) => device !== dev))
  const content = database + sum(files) + (agentsBytes ?? 0)
  const target = dirname(request.file)
  const [home, there] = [await roomIn(paths.home), await roomIn(target)]
  const isOne = home.disk === there.disk
  const places = [
    { folder: paths.home, free: home.free, needs: cut + (isOne ? content : 0) },
    { folder: target, free: there.free, needs: isOne ? 0 : content },
  ]
  for (const { folder, free, needs } of places) {
    if (free >= needs + spareBytes) continue
    throw new Problem('disk-full', {
      detail: `the backup needs ${inMb(needs + spareBytes)} on the disk of ${folder}, which has ${inMb(free)} free`,
      repair: 'Free space on that disk, or write the backup to another disk; nothing was written.',
    })
  }
  return agentsBytes === null ? null : content
}

/** Space for the first start of the mesh, in addition to the backup's content. */
const firstStartBytes = 64 * 1024 * 1024
const largestNamedMax = 3

/**
 * Checks that the home's disk has room for what a restore writes there: the home, and the data of these agents. Holes
 * count, because a restore writes them. Problem `disk-full` with the largest agents.
 */
export async function requireRoomForRestore(
  home: string,
  content: {
    readonly homeBytes: number
    readonly agents: readonly { readonly agent: string; readonly bytes: number }[]
  },
): Promise<void> {
  const { agents, homeBytes } = content
  await mkdir(home, { recursive: true, mode: 0o700 })
  const { bavail, bsize } = await statfs(home)
  const needed = agents.reduce((sum, { bytes }) => sum + bytes, homeBytes) + firstStartBytes
  if (bavail * bsize >= needed) return
  const largest = agents.toSorted((one, other) => other.bytes - one.bytes).slice(0, largestNamedMax)
  const named = largest.map(({ agent, bytes }) => `${agent} (${inMb(bytes)})`).join(', ')
  throw new Problem('disk-full', {
    detail: `the backup needs at least ${inMb(needed)} on the disk of ${home} (${await diskWords(home)})${named === '' ? '' : `; most of it is the data of ${named}`}`,
    repair:
      'Free space on that disk, name a folder on another one with --home, or leave an agent out with --without AGENT; nothing was written.',
  })
}
