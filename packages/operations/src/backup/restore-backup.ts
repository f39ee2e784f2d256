import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import { syncFolder } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import type { About, Entry } from './frames.ts'
import { namingDisk } from './full-disk.ts'
import { readFrames } from './read-frames.ts'
import type { EntrySink } from './read-frames.ts'
import { requireKnownAgents } from './require-known-agents.ts'
import { requireRoomForRestore } from './require-room.ts'
import { openArchive } from './seal-archive.ts'
import { reportingBytes } from './report-bytes.ts'
import type { ReportBytes } from './report-bytes.ts'
import { fileSink } from './verify-backup.ts'
import type { VerifiedBackup } from './verify-backup.ts'
import { waitForDrain } from './wait-for-drain.ts'
import { whyOf } from './why-of.ts'

export interface RestoreOptions {
  readonly paths: DataPaths
  readonly file: string
  readonly passphrase: string | null
  /** The result of `verifyBackup` for this file. */
  readonly verified: VerifiedBackup
  /** Agents whose data is excluded from the restore. */
  readonly without: readonly string[]
  /** Whether agents' data goes to other disks than the home's. */
  readonly agentsElsewhere: boolean
  /** Creates the home's folders and gives the home its own id. */
  readonly openHome: () => Promise<{ readonly homeId: string }>
  /** Called once the home has an id and its files; returns where to write the agents' data. */
  readonly openAgents: (home: { readonly homeId: string; readonly about: About }) => Promise<AgentsTarget>
  readonly progress: (step: string) => void
  readonly moved: ReportBytes
}

export interface AgentsTarget {
  /** Prepares the place for agents' data. Rejects if no agent's data could be written. */
  prepare(): Promise<void>
  /** Writes an agent's data. After a rejection, no data of this agent remains. */
  write(agentId: string, tar: AsyncIterable<Uint8Array>): Promise<void>
  close(): Promise<void>
}

export interface RestoredHome {
  readonly homeId: string
  /** Agents in the backup whose data is missing in the home, each with the reason. */
  readonly leftOut: readonly { readonly agent: string; readonly why: string }[]
}

/**
 * Restores a verified backup as a home. The home gets its own id: the original home may continue beside it, and its
 * containers and volumes stay unchanged.
 *
 * - B1 Only into an empty folder or an interrupted restore. A mark exists from before the first file until after the
 *   last, and a home with that mark does not start.
 * - B2 Everything is verified again while it is written; an error ends the restore, and the mark stays.
 * - B3 An agent whose data is damaged, missing in the backup or not writable is left out and listed; the others are
 *   restored.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoredHome> {
  const { paths, progress, verified } = options
  const leftOut = knownBefore(options)
  await requireEmpty(paths)
  const excluded = new Set(leftOut.map(({ agent }) => agent))
  await requireRoomForRestore(paths.home, {
    homeBytes: verified.homeBytes,
    agents: options.agentsElsewhere ? [] : verified.agents.filter(({ agent }) => !excluded.has(agent)),
  })
  await mkdir(paths.dataFolder, { recursive: true, mode: 0o700 })
  await writeFile(paths.restoreMark, 'This home is being restored, or was until its restore was cut off.\n')
  await syncFolder(paths.dataFolder)
  const { homeId } = await options.openHome()
  const agents = await options.openAgents({ homeId, about: verified.about })
  const written: Written = { leftOut, agents: 0, failures: [] }
  try {
    progress('Writing the database and the files')
    const { size } = await stat(options.file)
    const archive = reportingBytes(createReadStream(options.file), size, options.moved)
    await readFrames(openArchive(archive, options.passphrase), {
      about: () => {},
      entry: (entry) => sinkOf(entry, { paths, agents, progress, written }),
    })
    requireWorkingTarget(written)
  } catch (error) {
    throw await namingDisk(error, {
      folder: paths.home,
      repair: 'Free space on the disk of the target folder, then run the same restore command again.',
    })
  } finally {
    await agents.close()
  }
  await syncFolder(paths.home)
  await rm(paths.restoreMark)
  await syncFolder(paths.dataFolder)
  return { homeId, leftOut: written.leftOut }
}

/**
 * The excluded agents, checked before anything is written. Problem `not-found` for a name that the backup does not
 * contain.
 */
function knownBefore({ verified, without }: RestoreOptions): { agent: string; why: string }[] {
  const agents = verified.agents.map(({ agent }) => agent)
  requireKnownAgents(without, { agents, lacks: 'the backup has no agent with the id' })
  return verified.agents.flatMap(({ agent, state, why }) =>
    without.includes(agent)
      ? [{ agent, why: 'left out by --without' }]
      : state === 'there'
        ? []
        : [{ agent, why: why ?? 'unknown reason' }],
  )
}

interface Written {
  readonly leftOut: { agent: string; why: string }[]
  /** How many agents' data was sent to the target, with those that failed. */
  agents: number
  readonly failures: unknown[]
}

/**
 * Rejects with the last failure if the data of two or more agents was sent and none could be written: the target is
 * at fault then. Judged at the end only, because agents choose their names and data, and so which of them come
 * first.
 */
function requireWorkingTarget({ agents, failures }: Written): void {
  if (failures.length > 1 && failures.length === agents) throw failures.at(-1)
}

async function sinkOf(
  entry: Entry,
  to: {
    readonly paths: DataPaths
    readonly agents: AgentsTarget
    readonly progress: (step: string) => void
    readonly written: Written
  },
): Promise<EntrySink | null> {
  if (entry.kind === 'database') return fileSink(to.paths.database, 0o600)
  if (entry.kind === 'file') {
    // `checkedPath` has verified that the path is below the home, which was empty, so no symbolic link is on the way.
    const path = join(to.paths.home, entry.path)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return fileSink(path, entry.mode & 0o700)
  }
  const { agent } = entry
  if (to.written.leftOut.some((one) => one.agent === agent)) return null
  to.progress(`Writing the data of ${agent}`)
  await to.agents.prepare()
  return dataSink(agent, to)
}

/** Returns a sink for an agent's data. After a failed write it records the error and skips the rest (B3). */
function dataSink(
  agent: string,
  { agents, written }: { readonly agents: AgentsTarget; readonly written: Written },
): EntrySink {
  const pipe = new PassThrough()
  let failure: { readonly error: unknown } | null = null
  const writing = agents.write(agent, pipe).catch((error: unknown) => {
    failure = { error }
    pipe.destroy()
  })
  return {
    take: async (piece) => {
      if (failure === null && !pipe.write(piece)) await waitForDrain(pipe, writing)
    },
    end: async () => {
      if (failure === null) pipe.end()
      await writing
      written.agents += 1
      if (failure === null) return
      written.failures.push(failure.error)
      written.leftOut.push({ agent, why: whyOf(failure.error) })
    },
  }
}

/** B1. Problem `conflict`. */
async function requireEmpty(paths: DataPaths): Promise<void> {
  const found = await readdir(paths.home).catch(() => [])
  if (found.length === 0) return
  throw new Problem('conflict', {
    detail: `${paths.home} is not empty: it contains ${found.slice(0, 3).join(', ')}`,
    repair: 'Name an empty folder with --home, or remove the fleet of this folder first with flotilla reset.',
  })
}
