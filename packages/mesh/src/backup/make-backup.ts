import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Problem } from '@flotilla/protocol/problem'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { syncFolder } from '../config/index.ts'
import type { DataPaths } from '../config/index.ts'
import type { DataReading } from '../sandbox/index.ts'
import { openDatabase } from '../storage/index.ts'
import { writeFrames } from './frames.ts'
import type { About, SourceEntry } from './frames.ts'
import { sealArchive } from './seal-archive.ts'
import { bytesOfFiles, takeCut } from './take-cut.ts'
import type { CutFile } from './take-cut.ts'
import { tellingBytes } from './tell-bytes.ts'
import type { TellBytes } from './tell-bytes.ts'

const cutPrefix = 'backup-'
/** Left free beside what is written. */
const spareBytes = 16 * 1024 * 1024

/** Null where the agent keeps nothing. `held` is known once all was read. */
export type ReadAgentData = (agentId: string) => Promise<DataReading | null>

export interface MadeBackup {
  readonly file: string
  readonly bytes: number
  readonly agents: number
  readonly files: number
  readonly encrypted: boolean
  readonly secrets: boolean
  /** Agents that had to go on before all of theirs was read. */
  readonly not_held: readonly string[]
}

export interface BackupOptions {
  readonly paths: DataPaths
  /** Where it is written, 0600; there is nothing yet. */
  readonly file: string
  readonly passphrase: string | null
  readonly secrets: boolean
  readonly homeId: string
  readonly product: string
  readonly runtime: RuntimeName
  readonly now: number
  readonly randomBytes: (count: number) => Buffer
  readonly readAgentData: ReadAgentData
  /** What these agents keep, in bytes; null where that cannot be counted beforehand. */
  readonly measureAgents: (agentIds: readonly string[]) => Promise<number | null>
  readonly progress: (step: string) => void
  readonly moved: TellBytes
  /** Bytes that are free where a folder is, and what tells that two folders share them. */
  readonly roomIn?: RoomIn
  readonly signal: AbortSignal
}

/**
 * Writes a whole home into one file. The database and the files are of one moment; the data of each agent is of a moment
 * after it, as a mesh that was killed then would have left it: a run that the ledger has as open goes on from what its agent
 * wrote, and one that it does not have yet was never told to anybody. The file appears under its name when it is whole.
 * Problems `conflict` for a file that is there, `not-found` for a folder that is not, `disk-full` before anything is written.
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { paths, file, progress } = options
  if (await exists(file)) {
    throw new Problem('conflict', { detail: `${file} is there already`, repair: 'Name another file.' })
  }
  await sweepCuts(paths)
  const size = await requireRoom(options)
  await mkdir(paths.runtimeFolder, { recursive: true, mode: 0o700 })
  const folder = await mkdtemp(join(paths.runtimeFolder, cutPrefix))
  const partial = join(dirname(file), `.${basename(file)}.${process.pid}.partial`)
  try {
    progress('Taking the database and the files as they stand')
    const cut = await takeCut(paths, folder, options)
    const { agents, schema } = inDatabase(cut.database)
    progress('Writing the database and the files')
    const about: About = {
      product: options.product,
      made_at: options.now,
      home_id: options.homeId,
      runtime: options.runtime,
      secrets: options.secrets,
      schema,
      agents: agents.length,
    }
    const notHeld: string[] = []
    const entries = sources(cut, agents, { ...options, notHeld })
    const frames = tellingBytes(writeFrames(about, entries), size, options.moved)
    const archive = sealArchive(frames, options)
    await pipeline(Readable.from(archive), createWriteStream(partial, { flags: 'wx', mode: 0o600 }), {
      signal: options.signal,
    })
    await synced(partial)
    await rename(partial, file)
    await syncFolder(dirname(file))
    return {
      file,
      bytes: (await stat(file)).size,
      agents: agents.length,
      files: cut.files.length,
      encrypted: options.passphrase !== null,
      secrets: options.secrets,
      not_held: notHeld,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
    await rm(partial, { force: true })
  }
}

export type RoomIn = (folder: string) => Promise<{ readonly free: number; readonly disk: string }>

const roomOnDisk: RoomIn = async (folder) => {
  const { bavail, bsize } = await statfs(folder).catch((error: unknown) => {
    // Not made here: where a disk belongs that is not there, a folder would fill the one below it.
    throw new Problem('not-found', {
      detail: `the folder ${folder} cannot be used: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: 'Make it (mkdir -p), or bring in the disk that it belongs to; nothing was written.',
    })
  })
  return { free: bavail * bsize, disk: String((await stat(folder)).dev) }
}

/**
 * The cut needs room for the database where the home is, the file room for everything; agents whose data nobody can count
 * beforehand are left out of the sum. Gives the size of the content, null where it is not known. Problem `disk-full`.
 */
async function requireRoom(options: BackupOptions): Promise<number | null> {
  const { paths, roomIn = roomOnDisk } = options
  const sizes = [paths.database, `${paths.database}-wal`].map((path) =>
    stat(path).then(
      (found) => found.size,
      () => 0,
    ),
  )
  const database = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  const agents = await options.measureAgents(inDatabase(paths.database).agents)
  const content = database + bytesOfFiles(paths, options) + (agents ?? 0)
  const [home, target] = [await roomIn(paths.home), await roomIn(dirname(options.file))]
  const isOne = home.disk === target.disk
  const places = [
    { folder: paths.home, free: home.free, needs: database + (isOne ? content : 0) },
    { folder: dirname(options.file), free: target.free, needs: isOne ? 0 : content },
  ]
  for (const { folder, free, needs } of places) {
    if (free >= needs + spareBytes) continue
    throw new Problem('disk-full', {
      detail: `the backup needs ${inMb(needs + spareBytes)} where ${folder} is, and ${inMb(free)} are free`,
      repair: 'Free some room there, or write the backup to another disk; nothing was written.',
    })
  }
  return agents === null ? null : content
}

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`

async function* sources(
  cut: { readonly database: string; readonly files: readonly CutFile[] },
  agents: readonly string[],
  to: Pick<BackupOptions, 'readAgentData' | 'progress'> & { readonly notHeld: string[] },
): AsyncGenerator<SourceEntry> {
  yield { entry: { kind: 'database' }, content: createReadStream(cut.database) }
  for (const { path, mode, source } of cut.files) {
    yield { entry: { kind: 'file', path, mode }, content: createReadStream(source) }
  }
  for (const agent of agents) {
    to.progress(`Reading what ${agent} keeps`)
    const data = await to.readAgentData(agent)
    if (data === null) continue
    try {
      yield { entry: { kind: 'agent-data', agent }, content: asBuffers(data.tar) }
      if (!data.held()) to.notHeld.push(agent)
    } finally {
      await data.leave()
    }
  }
}

async function* asBuffers(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
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

/** What a backup that was killed has left of its cut. Nobody else makes one meanwhile. */
export async function sweepCuts(paths: DataPaths): Promise<void> {
  for (const name of await readdir(paths.runtimeFolder).catch(() => [])) {
    if (name.startsWith(cutPrefix))
      await rm(join(paths.runtimeFolder, name), { recursive: true, force: true })
  }
}

async function synced(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
