import { statfsSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { isDiskFull } from './disk-full.ts'

/** Kept free for what was accepted already: its outcome, its journal and its costs must still be written. */
const freeMinBytes = 32 * 1024 * 1024
/** A write that failed for lack of room keeps new work out for so long; then the next one tries. */
const rememberFailureMs = 5_000

/** Whether the database can grow. New work is refused before it cannot. */
export interface DiskSpace {
  /** In words why new work is refused; null when there is room. */
  shortage(): string | null
  /** Problem `disk-full`. */
  require(): void
  /** Hears of every error of the database. */
  noteError(error: unknown): void
}

export function createDiskSpace(options: {
  readonly folder: string
  readonly clock: Clock
  /** Free bytes where the folder is. */
  readonly freeBytes?: (folder: string) => number
}): DiskSpace {
  const { folder, clock, freeBytes = freeBytesOf } = options
  let failedAt = -Infinity

  function shortage(): string | null {
    const free = freeBytes(folder)
    if (free < freeMinBytes) {
      return `${inMb(free)} free where ${folder} is; ${inMb(freeMinBytes)} are kept for work that was accepted`
    }
    const passedMs = clock.now() - failedAt
    return passedMs >= 0 && passedMs < rememberFailureMs
      ? `the database in ${folder} could not be written to`
      : null
  }

  return {
    shortage,
    require: () => {
      const detail = shortage()
      if (detail !== null) throw new Problem('disk-full', { detail, retryAfterSeconds: 30 })
    },
    noteError: (error) => {
      if (isDiskFull(error)) failedAt = clock.now()
    },
  }
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

function inMb(bytes: number): string {
  return `${Math.floor(bytes / (1024 * 1024))} MB`
}
