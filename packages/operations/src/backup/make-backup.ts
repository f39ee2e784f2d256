import { createReadStream, lstatSync } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { syncFolder } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { openDatabase } from '@flotilla/foundation/storage'
import { authorityPath, isLeftOut, secretPaths } from './entry-path.ts'
import { writeFrames } from './frames.ts'
import type { About, SourceEntry } from './frames.ts'
import { namingDisk } from './full-disk.ts'
import { openPartial, sweepPartials } from './partial-file.ts'
import type { PartialBackup } from './partial-file.ts'
import { readAgents } from './read-agents.ts'
import type { AgentsRead, AgentsSource, DataOfAgents } from './read-agents.ts'
import { requireKnownAgents } from './require-known-agents.ts'
import { requireRoom, roomOnDisk } from './require-room.ts'
import type { RoomIn } from './require-room.ts'
import { broken, sealArchive } from './seal-archive.ts'
import { takeCut } from './take-cut.ts'
import type { Cut } from './take-cut.ts'
import { reportingBytes } from './report-bytes.ts'
import type { ReportBytes } from './report-bytes.ts'
import { whatIsMissing } from './what-is-missing.ts'
import type { WhatIsMissing } from './what-is-missing.ts'
import { verifyBackup } from './verify-backup.ts'
import { whyOf } from './why-of.ts'
import { writeArchive } from './write-archive.ts'

/** Space that a backup leaves free on its disk; below half of it a mesh on the same disk refuses new work. */
const keepFreeBytes = 64 * 1024 * 1024

export interface MadeBackup extends WhatIsMissing {
  readonly file: string
  readonly bytes: number
  readonly agents: number
  readonly files: number
  readonly encrypted: boolean
  readonly secrets: boolean
  /** Secrets of the home that the backup contains. */
  readonly secret_files: readonly string[]
  /** Secrets of the home that the backup does not contain. */
  readonly secrets_left_out: readonly string[]
  /** Agents that had to resume before all their data was read. */
  readonly not_held: readonly string[]
}

export interface BackupOptions {
  readonly paths: DataPaths
  /** The path of the new file (mode 0600), which must not exist yet. */
  readonly file: string
  readonly passphrase: string | null
  readonly secrets: boolean
  readonly homeId: string
  readonly product: string
  readonly runtime: RuntimeName
  readonly now: number
  readonly pid: number
  readonly randomBytes: (count: number) => Buffer
  readonly agents: DataOfAgents
  readonly progress: (step: string) => void
  readonly moved: ReportBytes
  /** The free space of a folder's file system, with an id that shows that two folders share it. */
  readonly roomIn?: RoomIn
  readonly signal: AbortSignal
}

/**
 * Writes a whole home into one file. Database and files are one consistent snapshot. The data of each agent is a
 * slightly later snapshot, as after a kill of the mesh at that time: an open run of the ledger continues from what
 * its agent wrote, and a run that the ledger does not have yet was never acknowledged.
 *
 * - M1 The file is read to its end, as by a restore, before it gets its name.
 * - M2 Entries that restores skip, and agents whose data cannot be read, are left out and listed in the result.
 *
 * Problems `conflict` for an existing file, `not-found` for a missing folder or agent, `disk-full`.
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { paths, file, roomIn = roomOnDisk } = options
  if (await exists(file)) {
    throw new Problem('conflict', { detail: `${file} is there already`, repair: 'Name another file.' })
  }
  await sweepPartials(paths)
  const { agents } = inDatabase(paths.database)
  const { without, measure } = options.agents
  requireKnownAgents(without, { agents, lacks: 'the home has no agent' })
  const agentsBytes = await measure(agents.filter((agent) => !without.includes(agent)))
  const size = await requireRoom({ ...options, agentsBytes, roomIn })
  const isOneDisk = (await roomIn(paths.home)).disk === (await roomIn(dirname(file))).disk
  const partial = await openPartial(paths, file, options.pid)
  try {
    const made = await writePartial(options, partial, { size, keepFreeBytes: isOneDisk ? keepFreeBytes : 0 })
    await verifyPartial(options, partial)
    await rename(partial.path, file)
    await syncFolder(dirname(file))
    return { file, bytes: (await stat(file)).size, ...made }
  } finally {
    await partial.remove()
  }
}

async function writePartial(
  options: BackupOptions,
  { folder, path }: PartialBackup,
  to: { readonly size: number | null; readonly keepFreeBytes: number },
): Promise<Omit<MadeBackup, 'file' | 'bytes'>> {
  const { paths, passphrase, secrets, progress, signal } = options
  progress('Copying the current database and files')
  const home = {
    folder: paths.runtimeFolder,
    repair: 'Free space on the disk of the home; nothing was written.',
  }
  const cut = await takeCut(paths, folder, options).catch(async (error: unknown) => {
    throw await namingDisk(error, home)
  })
  const { agents, schema } = inDatabase(cut.database)
  progress('Writing the database and the files')
  const secretFiles = secretPaths.filter((secret) => cut.files.some((one) => one.path === secret))
  const about: About = {
    product: options.product,
    made_at: options.now,
    home_id: options.homeId,
    runtime: options.runtime,
    secrets,
    schema,
    agents: agents.length,
    files: cut.files.length,
    secret_files: secretFiles,
    skipped: cut.skipped,
  }
  const read: AgentsRead = { parts: [], notHeld: [] }
  const entries = sources(cut, { ...options.agents, ids: agents, progress }, read)
  const frames = reportingBytes(writeFrames(about, entries), to.size, options.moved)
  await writeArchive(sealArchive(frames, options), { path, keepFreeBytes: to.keepFreeBytes, signal })
  // Frees the space that the verification needs for its database.
  await rm(cut.database, { force: true })
  return {
    agents: agents.length,
    files: cut.files.length,
    encrypted: passphrase !== null,
    secrets,
    secret_files: secretFiles,
    secrets_left_out: [...secretPaths.filter((one) => isLeftOut(one, options)), authorityPath].filter(
      (one) => lstatSync(join(paths.home, one), { throwIfNoEntry: false }) !== undefined,
    ),
    not_held: read.notHeld,
    ...whatIsMissing({ home: cut.skipped, agents: read.parts }),
  }
}

/** M1. */
async function verifyPartial(options: BackupOptions, { folder, path }: PartialBackup): Promise<void> {
  const { passphrase, progress, moved, signal } = options
  progress('Reading the backup to its end')
  try {
    const { agents } = await verifyBackup({ file: path, passphrase, temporary: folder, moved, signal })
    const damaged = agents.find(({ state }) => state === 'damaged')
    if (damaged) throw broken(`the data of ${damaged.agent}: ${damaged.why}`)
  } catch (error) {
    if (signal.aborted || (error instanceof Problem && error.code === 'disk-full')) throw error
    throw new Problem('unprocessable', {
      detail: `the backup was written but cannot be read back: ${whyOf(error)}`,
      repair:
        'Check the disk that has the backup, or write the backup to another disk; this file was removed.',
      cause: error,
    })
  }
}

async function* sources(cut: Cut, from: AgentsSource, read: AgentsRead): AsyncGenerator<SourceEntry> {
  yield { entry: { kind: 'database' }, content: createReadStream(cut.database) }
  for (const { path, mode, source, bytes } of cut.files) {
    const content = bytes === 0 ? Readable.from([]) : createReadStream(source, { end: bytes - 1 })
    yield { entry: { kind: 'file', path, mode }, content }
  }
  yield* readAgents(from, read)
}

function inDatabase(path: string): { readonly agents: readonly string[]; readonly schema: number } {
  const database = openDatabase(path)
  try {
    const agents = database.prepare('SELECT id FROM agents ORDER BY id').all()
    const newest = database.prepare('SELECT max(version) AS newest FROM schema_steps').get()
    return { agents: agents.map(({ id }) => String(id)), schema: Number(newest?.['newest'] ?? 0) }
  } finally {
    database.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
