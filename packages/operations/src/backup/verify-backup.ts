import { createReadStream, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { faultInDatabase } from '@flotilla/foundation/storage'
import type { About, Entry } from './frames.ts'
import { namingDisk, requireFree } from './full-disk.ts'
import { readFrames } from './read-frames.ts'
import type { EntrySink, ReadArchive } from './read-frames.ts'
import { broken, openArchive } from './seal-archive.ts'
import { reportingBytes } from './report-bytes.ts'
import type { ReportBytes } from './report-bytes.ts'
import { waitForDrain } from './wait-for-drain.ts'

export interface VerifyOptions {
  readonly file: string
  readonly passphrase: string | null
  /** A folder in which a temporary folder may be created. */
  readonly temporary: string
  readonly moved: ReportBytes
  readonly signal?: AbortSignal
  /**
   * Called now and then with the size read so far; may throw to stop the reading. A small file can describe more
   * zeros than any disk holds, which a restore should not have to read to its end.
   */
  readonly fits?: (soFar: ContentSoFar) => Promise<void>
}

export interface ContentSoFar {
  readonly about: About
  readonly homeBytes: number
  readonly agents: readonly { readonly agent: string; readonly bytes: number }[]
}

/** Space in bytes that stays free on the disk of the temporary folder, because the mesh may use the same disk. */
const keepFreeBytes = 64 * 1024 * 1024
/** The free space is checked after this many bytes. */
const checkEveryBytes = 64 * 1024 * 1024

export interface VerifiedBackup extends ReadArchive {
  /** Size of the database and the files; the rest is data of agents. */
  readonly homeBytes: number
}

/**
 * Reads a backup to its end like a restore, and writes only its database into a temporary folder, where SQLite checks
 * it. An agent with damaged data is listed in `agents` and does not stop the verification. Problems `not-found`,
 * `unprocessable` with the error, `unauthenticated` for a wrong passphrase, `disk-full` if the folder has no space.
 */
export async function verifyBackup(options: VerifyOptions): Promise<VerifiedBackup> {
  const size = await sizeOf(options.file)
  const folder = await mkdtemp(join(options.temporary, 'flotilla-verify-'))
  const database = join(folder, 'mesh.db')
  let hasDatabase = false
  const disk = {
    folder: options.temporary,
    repair: 'Free space on that disk: the check extracts the database of the backup there.',
  }
  const read = { about: null as About | null, homeBytes: 0, unchecked: 0 }
  const agents = new Map<string, number>()
  async function content(entry: Entry, bytes: number): Promise<void> {
    if (entry.kind === 'agent-data') agents.set(entry.agent, (agents.get(entry.agent) ?? 0) + bytes)
    else read.homeBytes += bytes
    read.unchecked += bytes
    if (read.unchecked < checkEveryBytes) return
    read.unchecked = 0
    if (entry.kind === 'database') await requireFree(keepFreeBytes, disk)
    const { about, homeBytes } = read
    const sizes = [...agents].map(([agent, size]) => ({ agent, bytes: size }))
    if (about !== null) await options.fits?.({ about, homeBytes, agents: sizes })
  }
  try {
    const { signal } = options
    const stream = createReadStream(options.file, signal === undefined ? {} : { signal })
    const archive = reportingBytes(stream, size, options.moved)
    const verified = await readFrames(openArchive(archive, options.passphrase), {
      about: (about) => {
        read.about = about
      },
      entry: (entry: Entry) => {
        if (entry.kind !== 'database') return null
        hasDatabase = true
        return fileSink(database, 0o600)
      },
      content,
    })
    if (!hasDatabase) throw broken('the backup has no database')
    const fault = faultInDatabase(database)
    if (fault !== null) throw broken(`the database in the backup is damaged: ${fault}`)
    return { ...verified, homeBytes: read.homeBytes }
  } catch (error) {
    throw await namingDisk(error, disk)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Problem `not-found`. */
async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => null)
  if (found?.isFile() === true) return found.size
  throw new Problem('not-found', {
    detail: `the file ${file} does not exist or cannot be read`,
    repair: 'Name the backup file that flotilla backup wrote.',
  })
}

/** Writes to a new file, which is synced at its end. */
export function fileSink(path: string, mode: number): EntrySink {
  const stream: WriteStream = createWriteStream(path, { flags: 'wx', mode, flush: true })
  let failed: Error | null = null
  stream.on('error', (error) => {
    failed = error
  })
  return {
    take: async (piece) => {
      if (failed) throw failed
      if (!stream.write(piece)) await waitForDrain(stream)
    },
    end: async () => {
      if (failed) throw failed
      stream.end()
      await once(stream, 'close')
      if (failed) throw failed
    },
  }
}
