import { createReadStream, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { faultInDatabase } from '../storage/index.ts'
import type { Entry } from './frames.ts'
import { namingDisk } from './full-disk.ts'
import { readFrames } from './read-frames.ts'
import type { EntrySink, ReadArchive } from './read-frames.ts'
import { broken, openArchive } from './seal-archive.ts'
import { tellingBytes } from './tell-bytes.ts'
import type { TellBytes } from './tell-bytes.ts'
import { waitForDrain } from './wait-for-drain.ts'

export interface VerifyOptions {
  readonly file: string
  readonly passphrase: string | null
  /** A folder in which a temporary folder may be created. */
  readonly temporary: string
  readonly moved: TellBytes
  readonly signal?: AbortSignal
}

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
  let homeBytes = 0
  const counted = (sink: EntrySink | null): EntrySink => ({
    take: (piece) => {
      homeBytes += piece.length
      return sink?.take(piece)
    },
    end: () => sink?.end(),
  })
  try {
    const { signal } = options
    const stream = createReadStream(options.file, signal === undefined ? {} : { signal })
    const archive = tellingBytes(stream, size, options.moved)
    const verified = await readFrames(openArchive(archive, options.passphrase), {
      about: () => {},
      entry: (entry: Entry) => {
        if (entry.kind === 'agent-data') return null
        if (entry.kind === 'file') return counted(null)
        hasDatabase = true
        return counted(fileSink(database, 0o600))
      },
    })
    if (!hasDatabase) throw broken('the backup has no database')
    const fault = faultInDatabase(database)
    if (fault !== null) throw broken(`the database in the backup is damaged: ${fault}`)
    return { ...verified, homeBytes }
  } catch (error) {
    throw await namingDisk(error, {
      folder: options.temporary,
      repair: 'Free space on that disk: the check extracts the database of the backup there.',
    })
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
