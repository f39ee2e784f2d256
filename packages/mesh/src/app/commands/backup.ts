import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fillPath } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { Problem } from '@flotilla/protocol/problem'
import { runtimeNames } from '@flotilla/protocol/runtime-names'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import * as z from 'zod'
import { heldTrailer, makeBackup, unreadTrailer } from '@flotilla/operations/backup'
import type { ReadAgentData } from '@flotilla/operations/backup'
import {
  dataLimitBytes,
  dataPaths,
  defaultSettings,
  homeIdPath,
  lockHome,
  readSettingsFile,
  readTextFile,
} from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { freshBytes, productVersion, systemClock } from '@flotilla/foundation/platform'
import { notedCluster, refuseElsewhere } from '../choose-cluster.ts'
import { chooseRuntime } from '../choose-runtime.ts'
import { requireNoMesh } from '../hold-ledger.ts'
import { commandLog } from './command-context.ts'
import type { CommandContext } from './command-context.ts'

/** How often a backup retries while the mesh reads an agent for another backup: a mesh reads one at a time. */
const busyTriesMax = 600
const busyWaitMs = 1000
/** Time limit without data from an agent, milliseconds. */
const silenceMaxMs = 120_000

/** Writes the home into `--file`, with or without a running mesh. */
export async function backup(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const homeId = (await readTextFile(homeIdPath(paths)))?.trim()
  if (homeId === undefined || homeId === '') {
    throw new Problem('not-found', {
      detail: `${paths.home} is not the home of a fleet`,
      repair: 'Name the folder of the fleet with --home; nothing was written.',
    })
  }
  const passphrase = passphraseOf(context)
  const secrets = withSecrets(context, passphrase)
  // Concurrent backups would delete each other's snapshots, so a lock excludes them. A mesh uses another lock.
  const one = await lockHome(`${paths.home}\0backup`, { pid: context.pid, deed: 'backing-up' })
  try {
    // A home with invalid settings can be backed up too.
    const settings = await readSettingsFile(paths.settingsFile).catch(() => defaultSettings)
    const mesh = await openAgents(context, { paths, homeId })
    try {
      const made = await makeBackup({
        paths,
        file: resolve(requireFile(context)),
        passphrase,
        secrets,
        homeId,
        product: productVersion,
        runtime: mesh.runtime,
        now: systemClock.now(),
        pid: context.pid,
        randomBytes: freshBytes,
        agents: {
          without: context.backup?.without ?? [],
          read: mesh.read,
          dataLimitBytes: (agentId) => dataLimitBytes(settings, agentId),
          measure: mesh.measure,
        },
        progress: (step) => context.print({ progress: step }),
        moved: (moved) => context.print({ moved }),
        signal: context.stopped,
      })
      context.print({ ...made })
    } finally {
      await mesh.close()
    }
    return 0
  } finally {
    await one.release()
  }
}

export function requireFile({ file }: CommandContext): string {
  if (file !== undefined) return file
  throw new Problem('bad-request', { detail: 'the command names no file for the backup: --file FILE' })
}

/** Returns the passphrase from the environment; null for a backup without encryption. */
export function passphraseOf({ env }: CommandContext): string | null {
  const passphrase = env['FLOTILLA_BACKUP_PASSPHRASE']
  return passphrase === undefined || passphrase === '' ? null : passphrase
}

function withSecrets({ backup: request }: CommandContext, passphrase: string | null): boolean {
  const secrets = request?.secrets
  if (secrets === 'none') return false
  if (passphrase !== null || secrets === 'plain') return true
  throw new Problem('bad-request', {
    detail:
      'the home has secrets (.env, data/mesh-secret), and everyone who gets a backup without a passphrase can read them',
    repair:
      'Name a passphrase with --passphrase-file FILE, or leave the secrets out with --without-secrets. Use --secrets-in-plain only for a file that you protect yourself.',
  })
}

interface OpenAgents {
  /** The runtime that holds the agents' data. */
  readonly runtime: RuntimeName
  readonly read: ReadAgentData
  /** Counts the bytes of the agents' data; null if only the running mesh can count them. */
  readonly measure: (agentIds: readonly string[]) => Promise<number | null>
  close(): Promise<void>
}

/** Reads agents through the mesh if it runs; else from their sandboxes, while a lock prevents a start of the mesh. */
async function openAgents(
  context: CommandContext,
  { paths, homeId }: { readonly paths: DataPaths; readonly homeId: string },
): Promise<OpenAgents> {
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'backing-up' }).catch(
    (error: unknown) => {
      if (error instanceof Problem && error.code === 'home-in-use') return null
      throw error
    },
  )
  if (lock === null) {
    const { port, runtime } = await stateOf(paths)
    return {
      runtime,
      read: (agentId) => readOverMesh({ port, homeId, agentId }),
      measure: async () => null,
      close: async () => {},
    }
  }
  try {
    const agents = await openResting(context, { paths, homeId })
    return {
      ...agents,
      close: async () => {
        await agents.close()
        await lock.release()
      },
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Reads from the sandboxes of a stopped mesh. Problem `home-in-use` if a mesh on another machine uses the home. */
async function openResting(
  context: CommandContext,
  { paths, homeId }: { readonly paths: DataPaths; readonly homeId: string },
): Promise<OpenAgents> {
  // Rejects a runtime on this machine if the agents and their data are in a cluster.
  refuseElsewhere(context.environment, notedCluster(paths.clusterFile))
  const kind = context.environment.runtime ?? (await runtimeOf(paths))
  const inKind = { ...context, environment: { ...context.environment, runtime: kind } }
  // Preparing the runtime opens the agents' network to this machine, so no mesh may run on another machine.
  await requireNoMesh({ context: inKind, homeId, paths })
  const log = commandLog(context)
  const runtime = await chooseRuntime({ context: inKind, homeId, paths, log })
  try {
    const settings = await readSettingsFile(paths.settingsFile)
    await runtime.prepare({
      progress: (step) => context.print({ progress: step }),
      signal: context.stopped,
    })
    return {
      runtime: kind,
      read: (agentId) => runtime.readData(agentId, { dataLimitBytes: dataLimitBytes(settings, agentId) }),
      measure: async (agentIds) =>
        [...(await runtime.measureData(agentIds)).values()].reduce((sum, { bytes }) => sum + bytes, 0),
      close: () => runtime.close(),
    }
  } catch (error) {
    await runtime.close()
    throw error
  }
}

/** Returns the runtime of a stopped home: Kubernetes if noted, processes if agent folders exist, else containers. */
async function runtimeOf({ agentsFolder, clusterFile }: DataPaths): Promise<RuntimeName> {
  if (notedCluster(clusterFile) !== null) return 'kubernetes'
  const folders = await readdir(agentsFolder).catch(() => [])
  return folders.length > 0 ? 'process' : 'docker'
}

const stateSchema = z.looseObject({
  port: z.int().min(1).max(65_535),
  runtime: z.enum(runtimeNames),
})

async function stateOf(paths: DataPaths): Promise<z.infer<typeof stateSchema>> {
  const text = await readTextFile(paths.stateFile)
  const state = text === null ? null : stateSchema.safeParse(JSON.parse(text))
  if (state?.success === true) return state.data
  throw new Problem('conflict', {
    detail: `another program uses the home ${paths.home}, and no mesh answers for it yet`,
    repair: 'Repeat the command when flotilla status shows that the mesh runs.',
  })
}

async function readOverMesh(from: {
  readonly port: number
  readonly homeId: string
  readonly agentId: string
}): ReturnType<ReadAgentData> {
  for (let tries = 0; ; tries++) {
    const reply = await ask(from)
    if (reply.statusCode === 204) {
      reply.resume()
      return null
    }
    if (reply.statusCode === 200) {
      // If the connection breaks, the stream ends with an error: a partial archive must not be taken for complete.
      return {
        tar: untilEnd(reply),
        held: () => reply.trailers[heldTrailer] === 'true',
        leave: async () => void reply.destroy(),
      }
    }
    reply.resume()
    // The error concerns only this agent; the backup continues with the others.
    if (reply.statusCode !== 503)
      throw new Problem('unprocessable', {
        detail: `the mesh failed to read the data of an agent (status ${reply.statusCode})`,
        repair: 'Read the reason in data/mesh.log in the home, then repeat the backup.',
      })
    if (tries >= busyTriesMax)
      throw new Problem('conflict', {
        detail: 'another backup of this home has been reading the data of an agent for ten minutes',
        repair: 'Wait until the other backup has ended, then repeat this one.',
      })
    await systemClock.sleep(busyWaitMs)
  }
}

/** Yields an archive. Throws the mesh's reason at the end if the mesh could not read the data completely. */
async function* untilEnd(reply: IncomingMessage): AsyncGenerator<Uint8Array> {
  yield* reply as AsyncIterable<Uint8Array>
  const why = reply.trailers[unreadTrailer]
  if (why !== undefined) throw new Error(decodeURIComponent(why))
}

function ask({
  port,
  homeId,
  agentId,
}: {
  readonly port: number
  readonly homeId: string
  readonly agentId: string
}): Promise<IncomingMessage> {
  const { method, path } = meshInternalEndpoints.agentData
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path: fillPath(path, { id: agentId }),
        timeout: silenceMaxMs,
        headers: { [headers.meshInternal]: '1', [headers.home]: homeId },
      },
      resolve,
    )
    call.on('timeout', () => call.destroy(new Error('the mesh sent nothing for too long')))
    call.on('error', (cause) =>
      reject(
        new Problem('conflict', {
          detail: `the mesh stopped answering during the backup: ${cause.message}`,
          repair:
            'Check the mesh with flotilla status, then repeat the backup; the incomplete file was removed.',
          cause,
        }),
      ),
    )
    call.end()
  })
}
