import { statfsSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '../platform/index.ts'
import { storageFailureOf } from './storage-fault.ts'
import type { StorageFault } from './storage-fault.ts'

/** Kept free for accepted work: its outcome, audit log and costs must still be written. */
const freeMinBytes = 32 * 1024 * 1024
/** Kept free for the same: agents, configuration and backups make files. */
const freeMinFiles = 64
/** While the last write failed, a write is tried after this time, milliseconds. */
const probeIntervalMs = 1000
/** A commit that takes this long is reported: every request waits for it, milliseconds. */
export const slowCommitMs = 1000
/** A slow commit is reported for so long after it, and logged once in that time, milliseconds. */
export const slowToldMs = 60_000

/** Whether the database can grow and be written. New work is refused before it cannot. */
export interface DiskSpace {
  /** Why new work is refused; null when there is room and the last write succeeded. */
  trouble(): StorageTrouble | null
  /** That a commit of the last minute was slow, in words; null otherwise. Refuses nothing. */
  slow(): string | null
  /** Problems `disk-full`, `storage-failing`, `too-many-files`. */
  require(): void
  /** Called with every error of the database. */
  noteError(error: unknown): void
  /** Called with the time that each commit took. */
  noteCommit(ms: number): void
  /**
   * Logs when the trouble begins and ends. While the last write failed, calls `tryWrite` until it no longer throws.
   * Resolves at the signal.
   */
  watch(tryWrite: () => void, signal: AbortSignal): Promise<void>
}

export interface StorageTrouble {
  readonly code: StorageFault
  /** The reason, as text without a path: clients read it. */
  readonly detail: string
  /** The error behind it, for the log. */
  readonly error?: unknown
}

/** The free space of a folder's file system. */
export interface FreeRoom {
  readonly bytes: number
  /** Null where the file system does not count its files. */
  readonly files: number | null
}

export function createDiskSpace(options: {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly freeRoom?: (folder: string) => FreeRoom
}): DiskSpace {
  const { folder, clock, log, freeRoom = freeRoomOf } = options
  /** Why the last write failed; null once one has succeeded. */
  let failed: StorageTrouble | null = null
  let logged: { readonly code: StorageFault; readonly since: number } | null = null
  let slowCommit: { readonly ms: number; readonly at: number } | null = null
  let slowLoggedAt = -Infinity

  function trouble(): StorageTrouble | null {
    try {
      return shortageOf(freeRoom(folder)) ?? failed
    } catch (error) {
      return (
        failureOf(error) ?? { code: 'storage-failing', detail: 'the disk of the home cannot be read', error }
      )
    }
  }

  /** The log may lie on the same disk: what is logged at the end says it all again. */
  function logChange(): void {
    const found = trouble()
    if (found?.code === logged?.code) return
    if (logged !== null) {
      const seconds = Math.round((clock.now() - logged.since) / 1000)
      log.warn({ code: logged.code, seconds, folder }, 'the storage works again; the mesh takes new work')
    }
    logged = found === null ? null : { code: found.code, since: clock.now() }
    if (found === null) return
    const { code, detail, error } = found
    log.error(
      { code, detail, folder, ...(error === undefined ? {} : { err: error }) },
      'refusing new work: the storage of the mesh cannot be written; retrying every second',
    )
  }

  function probe(tryWrite: () => void): void {
    try {
      tryWrite()
      failed = null
    } catch (error) {
      noteError(error)
    }
  }

  function noteError(error: unknown): void {
    failed = failureOf(error) ?? failed
  }

  return {
    noteError,
    trouble,
    slow: () =>
      slowCommit === null || clock.now() - slowCommit.at > slowToldMs
        ? null
        : `a write to the disk of the home took ${(slowCommit.ms / 1000).toFixed(1)} s; every request waits for it`,
    noteCommit(ms) {
      if (ms < slowCommitMs) return
      const at = clock.now()
      slowCommit = { ms, at }
      if (at - slowLoggedAt < slowToldMs) return
      slowLoggedAt = at
      log.warn({ ms: Math.round(ms), folder }, 'a write to the database was slow; all requests waited for it')
    },
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
        if (logged === null) logChange()
        if (failed !== null) probe(tryWrite)
        logChange()
      }
    },
  }
}

function shortageOf({ bytes, files }: FreeRoom): StorageTrouble | null {
  const detail = (free: string, kept: string) =>
    `${free} free on the disk of the home; ${kept} are kept for work that was accepted`
  if (bytes < freeMinBytes) return { code: 'disk-full', detail: detail(inMb(bytes), inMb(freeMinBytes)) }
  if (files !== null && files < freeMinFiles) {
    return { code: 'disk-full', detail: detail(`${files} files (inodes)`, `${freeMinFiles}`) }
  }
  return null
}

function failureOf(error: unknown): StorageTrouble | null {
  const failure = storageFailureOf(error)
  if (failure === null) return null
  return { code: failure.fault, detail: `the last write to the database failed: ${failure.reason}`, error }
}

function freeRoomOf(folder: string): FreeRoom {
  const { bavail, bsize, files, ffree } = statfsSync(folder)
  return { bytes: bavail * bsize, files: files > 0 ? ffree : null }
}

function inMb(bytes: number): string {
  return `${Math.floor(bytes / (1024 * 1024))} MB`
}
