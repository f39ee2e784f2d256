import { statfsSync, statSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { awayWords } from '../config/index.ts'
import { storageFaultOf } from './storage-fault.ts'
import type { StorageFault } from './storage-fault.ts'

/**
 * The free space below which the mesh accepts no new work, in bytes, so that it can still write outcomes, audit log
 * and costs.
 */
const freeMinBytes = 32 * 1024 * 1024
/** The number of files that must still fit, because agents, configuration and backups create files. */
const freeMinFiles = 64
/** While the last write failed, a test write is made at this interval, in milliseconds. */
const probeIntervalMs = 1000

/** Reports whether the database can still grow and be written. While it cannot, the mesh refuses new work. */
export interface DiskSpace {
  /** Why new work is refused; null when there is room and the last write succeeded. */
  trouble(): StorageTrouble | null
  /** Problems `disk-full`, `storage-failing`, `too-many-files`. */
  require(): void
  /** Called with every error of the database. */
  noteError(error: unknown): void
  /** While the last write failed, calls `tryWrite` until it no longer throws. Resolves at the signal. */
  watch(tryWrite: () => void, signal: AbortSignal): Promise<void>
}

export interface StorageTrouble {
  readonly code: StorageFault
  /** The reason, as text. */
  readonly detail: string
}

/** The free space of a folder's file system. */
export interface FreeRoom {
  readonly bytes: number
  /** Null if the file system does not count its files. */
  readonly files: number | null
}

export function createDiskSpace(options: {
  readonly folder: string
  readonly clock: Clock
  readonly freeRoom?: (folder: string) => FreeRoom
}): DiskSpace {
  const { folder, clock, freeRoom = freeRoomOf } = options
  const began = identityOf(folder)
  /** Why the last write failed; null once one has succeeded. */
  let failed: StorageTrouble | null = null

  function trouble(): StorageTrouble | null {
    try {
      // The open database stays on the old file system, and accepted work can finish; new files go to the new one.
      if (identityOf(folder) !== began) return { code: 'storage-failing', detail: awayWords(folder) }
      return shortageOf(freeRoom(folder), folder) ?? failed
    } catch (error) {
      return failureOf(error, folder) ?? { code: 'storage-failing', detail: `${folder} cannot be read` }
    }
  }

  function noteError(error: unknown): void {
    failed = failureOf(error, folder) ?? failed
  }

  return {
    noteError,
    trouble,
    require: () => {
      const found = trouble()
      if (found === null) return
      throw new Problem(found.code, {
        detail: found.detail,
        retryAfterSeconds: found.code === 'disk-full' ? 30 : 5,
      })
    },
    async watch(tryWrite, signal) {
      while (!signal.aborted) {
        await clock.sleep(probeIntervalMs, signal).catch(() => {})
        if (failed === null) continue
        try {
          tryWrite()
          failed = null
        } catch (error) {
          noteError(error)
        }
      }
    },
  }
}

/** Device and inode; null if the folder does not exist. */
function identityOf(folder: string): string | null {
  const found = statSync(folder, { throwIfNoEntry: false })
  return found ? `${found.dev} ${found.ino}` : null
}

function shortageOf({ bytes, files }: FreeRoom, folder: string): StorageTrouble | null {
  const detail = (free: string, kept: string) =>
    `the disk of ${folder} has ${free} free; ${kept} are reserved for accepted work`
  if (bytes < freeMinBytes) return { code: 'disk-full', detail: detail(inMb(bytes), inMb(freeMinBytes)) }
  if (files !== null && files < freeMinFiles) {
    return { code: 'disk-full', detail: detail(`${files} files (inodes)`, `${freeMinFiles}`) }
  }
  return null
}

function failureOf(error: unknown, folder: string): StorageTrouble | null {
  const code = storageFaultOf(error)
  if (code === null) return null
  const why = error instanceof Error ? error.message : String(error)
  return { code, detail: `the database in ${folder} could not be written: ${why}` }
}

function freeRoomOf(folder: string): FreeRoom {
  const { bavail, bsize, files, ffree } = statfsSync(folder)
  return { bytes: bavail * bsize, files: files > 0 ? ffree : null }
}

function inMb(bytes: number): string {
  return `${Math.floor(bytes / (1024 * 1024))} MB`
}
