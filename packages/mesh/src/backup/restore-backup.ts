import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { once } from 'node:events'
import { Problem } from '@flotilla/protocol/problem'
import { syncFolder } from '../config/index.ts'
import type { DataPaths } from '../config/index.ts'
import { readFrames } from './frames.ts'
import type { About, Entry, EntrySink } from './frames.ts'
import { openArchive } from './seal-archive.ts'
import { tellingBytes } from './tell-bytes.ts'
import type { TellBytes } from './tell-bytes.ts'
import { fileSink } from './verify-backup.ts'
import type { VerifiedBackup } from './verify-backup.ts'

/** Beside what is in the backup itself, for what a mesh writes when it starts. */
const spareBytes = 64 * 1024 * 1024

export interface RestoreOptions {
  readonly paths: DataPaths
  readonly file: string
  readonly passphrase: string | null
  /** What `verifyBackup` said of this file a moment ago. */
  readonly verified: VerifiedBackup
  /** Whether what agents kept goes to other disks than the home's. */
  readonly agentsElsewhere: boolean
  /** Makes the home's folders and gives it an id of its own. */
  readonly openHome: () => Promise<{ readonly homeId: string }>
  /** Where agents' data goes, once the home has an id and its files. */
  readonly openAgents: (home: { readonly homeId: string; readonly about: About }) => Promise<{
    write(agentId: string, tar: AsyncIterable<Uint8Array>): Promise<void>
    close(): Promise<void>
  }>
  readonly progress: (step: string) => void
  readonly moved: TellBytes
}

/**
 * Makes a home of a backup that was verified. It has an id of its own: the home that the backup is of may go on beside it,
 * and nothing of it in the engine is touched.
 *
 * - B1 Only into a folder with nothing in it, or with a restore that was cut off, whose mark is in it from before the first
 *   file until after the last: a home with that mark does not start.
 * - B2 Everything is checked again while it is written; what is not as it should be ends it, and the mark stays.
 */
export async function restoreBackup(options: RestoreOptions): Promise<{ readonly homeId: string }> {
  const { paths, progress } = options
  await requireEmpty(paths)
  const { bytes, homeBytes } = options.verified
  await requireRoom(paths, options.agentsElsewhere ? homeBytes : bytes)
  await mkdir(paths.dataFolder, { recursive: true, mode: 0o700 })
  await writeFile(paths.restoreMark, 'This home is being restored, or was until its restore was cut off.\n')
  await syncFolder(paths.dataFolder)
  const { homeId } = await options.openHome()
  const agents = await options.openAgents({ homeId, about: options.verified.about })
  try {
    progress('Writing the database and the files')
    const { size } = await stat(options.file)
    const archive = tellingBytes(createReadStream(options.file), size, options.moved)
    await readFrames(openArchive(archive, options.passphrase), {
      about: () => {},
      entry: (entry) => sinkOf(entry, { paths, agents, progress }),
    })
  } finally {
    await agents.close()
  }
  await syncFolder(paths.home)
  await rm(paths.restoreMark)
  await syncFolder(paths.dataFolder)
  return { homeId }
}

async function sinkOf(
  entry: Entry,
  to: {
    readonly paths: DataPaths
    readonly agents: { write(agentId: string, tar: AsyncIterable<Uint8Array>): Promise<void> }
    readonly progress: (step: string) => void
  },
): Promise<EntrySink> {
  if (entry.kind === 'database') return fileSink(to.paths.database, 0o600)
  if (entry.kind === 'file') {
    // `checkedPath` has said that it stays below the home, which was empty: no link of anybody's is on the way.
    const path = join(to.paths.home, entry.path)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return fileSink(path, entry.mode & 0o700)
  }
  to.progress(`Writing what ${entry.agent} kept`)
  const pipe = new PassThrough()
  const written = to.agents.write(entry.agent, pipe)
  // It is awaited at the end; until then it must not end the process.
  let failed: unknown = null
  written.catch((error: unknown) => {
    failed = error ?? new Error('not written')
    pipe.destroy()
  })
  return {
    take: async (piece) => {
      if (failed !== null) throw failed
      if (!pipe.write(piece)) await Promise.race([once(pipe, 'drain'), once(pipe, 'close'), written])
    },
    end: async () => {
      if (failed === null) pipe.end()
      await written
    },
  }
}

/** B1. Problem `conflict`. */
async function requireEmpty(paths: DataPaths): Promise<void> {
  const found = await readdir(paths.home).catch(() => [])
  if (found.length === 0) return
  throw new Problem('conflict', {
    detail: `${paths.home} is not empty: it holds ${found.slice(0, 3).join(', ')}`,
    repair: 'Name another folder with --home, or remove this fleet first with flotilla reset.',
  })
}

async function requireRoom(paths: DataPaths, bytes: number): Promise<void> {
  await mkdir(paths.home, { recursive: true, mode: 0o700 })
  const { bavail, bsize } = await statfs(paths.home)
  if (bavail * bsize >= bytes + spareBytes) return
  throw new Problem('disk-full', {
    detail: `the backup needs ${Math.ceil((bytes + spareBytes) / 1024 / 1024)} MB where ${paths.home} is`,
  })
}
