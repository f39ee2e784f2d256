import { fstatSync, ftruncateSync, readSync, renameSync, statSync, writeSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from './log.ts'

/**
 * The size above which a log is moved to `<name>.1`, in bytes. Two files are kept, so the log takes about twice as
 * much.
 */
export const logMaxBytes = 64 * 1024 * 1024
/** How often the size is checked, in milliseconds. */
export const logCheckMs = 10_000
/** The wait after a failure, which usually is a full disk, in milliseconds. */
export const logRetryMs = 600_000
/** How much is copied at once, in bytes. */
const chunkBytes = 1024 * 1024

export interface BoundedLog {
  /** The log of the home. It is left alone if the output of this process goes elsewhere. */
  readonly path: string
  /** The open file to which this process and its children append. */
  readonly descriptor: number
  readonly maxBytes: number
}

/** Bounds the log while the mesh runs, until the signal aborts. Never rejects. */
export async function boundLog(
  bounded: BoundedLog,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  for (let waitMs = logCheckMs; ;) {
    await clock.sleep(waitMs, signal).catch(() => {})
    if (signal.aborted) return
    try {
      await rotateLog(bounded)
      waitMs = logCheckMs
    } catch (error) {
      waitMs = logRetryMs
      log.warn(
        { err: error },
        'failed to move the log to its older file; it grows on, and the next try is in ten minutes',
      )
    }
  }
}

/**
 * Copies the log to `<name>.1` and empties the log, because every process that has it open then continues in the same
 * file. Lines that arrive during the copy are copied in the same step that empties the log, so that no line is lost.
 * If a step fails, the log stays unchanged.
 */
export async function rotateLog({ path, descriptor, maxBytes }: BoundedLog): Promise<boolean> {
  const output = fstatSync(descriptor)
  if (!output.isFile() || output.size <= maxBytes) return false
  const named = statSync(path, { throwIfNoEntry: false })
  if (named?.ino !== output.ino || named.dev !== output.dev) return false
  const copy = `${path}.1.tmp`
  const from = await open(path, 'r+')
  try {
    const to = await open(copy, 'w', 0o600)
    try {
      const copied = await copyUpTo(from, to, output.size)
      await to.datasync()
      copyRest(from.fd, to.fd, copied)
      renameSync(copy, `${path}.1`)
      ftruncateSync(from.fd, 0)
    } finally {
      await to.close()
    }
  } catch (error) {
    await rm(copy, { force: true }).catch(() => {})
    throw error
  } finally {
    await from.close()
  }
  return true
}

async function copyUpTo(from: FileHandle, to: FileHandle, size: number): Promise<number> {
  const chunk = Buffer.alloc(chunkBytes)
  let copied = 0
  while (copied < size) {
    const { bytesRead } = await from.read(chunk, 0, Math.min(chunkBytes, size - copied), copied)
    if (bytesRead === 0) break
    await to.writeFile(chunk.subarray(0, bytesRead))
    copied += bytesRead
  }
  return copied
}

/** Copies without waiting, so that nothing else of this process writes meanwhile. */
function copyRest(from: number, to: number, start: number): void {
  const chunk = Buffer.alloc(chunkBytes)
  for (let at = start; ;) {
    const read = readSync(from, chunk, 0, chunkBytes, at)
    if (read === 0) return
    for (let written = 0; written < read;)
      written += writeSync(to, chunk, written, read - written, at + written)
    at += read
  }
}
