import { execFile } from 'node:child_process'
import { readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as z from 'zod/mini'
import { controlService, serviceState, startService } from '../mesh-process/systemd-control.ts'
import type { CommandContext } from '../context.ts'
import { readMeshFile } from '../mesh-process/mesh-file.ts'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'
import { meshFilePath } from '../mesh-process/mesh-paths.ts'
import { meshToStop, stopMeshProcess } from '../mesh-process/stop-mesh.ts'

/** How long a start may take: the first start of a release builds the image for agents. */
const startMaxMs = 900_000
const outputMaxBytes = 1024 * 1024

/** How the mesh of a home was running when the upgrade began. */
export interface RunningFleet {
  readonly pid: number
  readonly port: number
  readonly runtime: string
  /** The isolation level that the start of the mesh requested for agents; null if it requested none. */
  readonly isolation: string | null
  readonly version: string
  /** systemd keeps it. */
  readonly isService: boolean
}

const runtimeSchema = z.looseObject({
  runtime: z._default(z.string(), 'docker'),
  isolation: z._default(z.nullable(z.string()), null),
})

/** Returns null if no mesh runs. */
export async function runningFleet(home: string): Promise<RunningFleet | null> {
  const found = await readMeshFile(home)
  if (found?.alive !== true) return null
  const { pid, port, version } = found.mesh
  const more = runtimeSchema.safeParse(parseJsonLine(await readFile(meshFilePath(home), 'utf8')))
  const isService = (await serviceState())?.pid === pid
  const { runtime = 'docker', isolation = null } = more.data ?? {}
  return { pid, port, version, runtime, isolation, isService }
}

/** Stops the mesh as `flotilla stop` does, within the same time limit. */
export async function stopFleet(context: CommandContext, fleet: RunningFleet): Promise<void> {
  if (fleet.isService) return controlService('stop')
  const running = await meshToStop(context.place.home)
  if (running !== null) await stopMeshProcess(running, context.clock, context.signal)
}

/**
 * Starts the mesh of a home from the package at `root`, as it ran before, and waits until it answers. Rejects with
 * the error of the start.
 */
export async function startFleet(context: CommandContext, root: string, fleet: RunningFleet): Promise<void> {
  if (fleet.isService) {
    await startService(context.place.home, context.clock)
    return
  }
  const args = ['start', '--detach', '--home', context.place.home, '--port', `${fleet.port}`]
  const runtime = fleet.runtime === 'process' ? ['--runtime', 'process'] : []
  const isolation = fleet.isolation === null ? [] : ['--isolation', fleet.isolation]
  try {
    await promisify(execFile)(join(root, 'bin', 'flotilla'), [...args, ...runtime, ...isolation], {
      timeout: startMaxMs,
      maxBuffer: outputMaxBytes,
      env: context.environment.childEnvironment({ NO_COLOR: '1' }),
    })
  } catch (error) {
    const stderr: unknown = Reflect.get(Object(error), 'stderr')
    const lastLines = typeof stderr === 'string' ? stderr.trim().split('\n').slice(-8).join('\n  ') : ''
    throw new Error(lastLines === '' ? String(error) : lastLines, { cause: error })
  }
}

const copyPattern = /^mesh\.db\.before-\d+$/

/** A copy of a home's database made by an upgrade, with what distinguishes it from a later copy of the same name. */
export interface DatabaseCopy {
  readonly name: string
  readonly madeAs: string
}

/** The copies that upgrades made of a home's database. */
export async function databaseCopies(home: string): Promise<readonly DatabaseCopy[]> {
  const data = join(home, 'data')
  const names = (await readdir(data).catch(() => [])).filter((name) => copyPattern.test(name))
  return Promise.all(
    names.toSorted().map(async (name) => {
      const { ino, mtimeMs } = await stat(join(data, name))
      return { name, madeAs: `${ino} ${mtimeMs}` }
    }),
  )
}

/**
 * Restores the database copy that the failed upgrade made, because the older release rejects an upgraded database.
 * False if this upgrade made no copy. Ignores copies in `before`: an earlier try may have left one of the same name.
 */
export async function databaseBack(home: string, before: readonly DatabaseCopy[]): Promise<boolean> {
  const known = new Set(before.map(({ name, madeAs }) => `${name} ${madeAs}`))
  const made = (await databaseCopies(home)).find(({ name, madeAs }) => !known.has(`${name} ${madeAs}`))
  if (made === undefined) return false
  const data = join(home, 'data')
  for (const name of ['mesh.db-wal', 'mesh.db-shm']) await rm(join(data, name), { force: true })
  await rename(join(data, made.name), join(data, 'mesh.db'))
  return true
}
