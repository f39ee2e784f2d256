import { createReadStream, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { faultInDatabase } from '../storage/index.ts'
import { readFrames } from './frames.ts'
import type { About, Entry, EntrySink } from './frames.ts'
import { broken, openArchive } from './seal-archive.ts'
import { tellingBytes } from './tell-bytes.ts'
import type { TellBytes } from './tell-bytes.ts'

export interface VerifyOptions {
  readonly file: string
  readonly passphrase: string | null
  /** Where a folder may be made for the moment. */
  readonly temporary: string
  readonly moved: TellBytes
}

export interface VerifiedBackup {
  readonly about: About
  readonly entries: number
  /** Of its content. */
  readonly bytes: number
  /** What of it are database and files; the rest is what agents kept. */
  readonly homeBytes: number
}

/**
 * Reads a backup to its end as a restore would, and writes nothing but its database into a folder of its own, where SQLite
 * looks at it. Problems `not-found`, `unprocessable` with what is wrong, `unauthenticated` for a wrong passphrase.
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
    const archive = tellingBytes(createReadStream(options.file), size, options.moved)
    const verified = await readFrames(openArchive(archive, options.passphrase), {
      about: () => {},
      entry: (entry: Entry) => {
        if (entry.kind === 'agent-data') return null
        if (entry.kind === 'file') return counted(null)
        hasDatabase = true
        return counted(fileSink(database, 0o600))
      },
    })
    if (!hasDatabase) throw broken('it has no database')
    const fault = faultInDatabase(database)
    if (fault !== null) throw broken(`its database is damaged: ${fault}`)
    return { ...verified, homeBytes }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Problem `not-found`. */
async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => null)
  if (found?.isFile() === true) return found.size
  throw new Problem('not-found', {
    detail: `there is no file ${file} that can be read`,
    repair: 'Name the file that flotilla backup wrote.',
  })
}

/** Into a file that is not there yet, synced when it ends. */
export function fileSink(path: string, mode: number): EntrySink {
  const stream: WriteStream = createWriteStream(path, { flags: 'wx', mode, flush: true })
  let failed: Error | null = null
  stream.on('error', (error) => {
    failed = error
  })
  return {
    take: async (piece) => {
      if (failed) throw failed
      if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), once(stream, 'close')])
    },
    end: async () => {
      if (failed) throw failed
      stream.end()
      await once(stream, 'close')
      if (failed) throw failed
    },
  }
}
