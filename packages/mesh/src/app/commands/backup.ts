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
import { heldTrailer, makeBackup } from '../../backup/index.ts'
import type { ReadAgentData } from '../../backup/index.ts'
import {
  dataLimitBytes,
  dataPaths,
  defaultSettings,
  homeIdPath,
  lockHome,
  readSettingsFile,
  readTextFile,
} from '../../config/index.ts'
import type { DataPaths } from '../../config/index.ts'
import {
  createLog,
  freshBytes,
  productVersion,
  systemClock,
  openCommandOutput,
} from '../../platform/index.ts'
import { notedCluster, refuseElsewhere } from '../choose-cluster.ts'
import { chooseRuntime } from '../choose-runtime.ts'
import { requireNoMesh } from '../hold-ledger.ts'
import type { CommandContext } from './command-context.ts'

/** A busy mesh reads out one agent at a time; whoever comes second asks again so often. */
const busyTriesMax = 600
const busyWaitMs = 1000
/** Nothing has come of an agent's data for so long. */
const silenceMaxMs = 120_000

/** Writes the home into `--file`, beside a mesh that runs or without one. */
export async function backup(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const homeId = (await readTextFile(homeIdPath(paths)))?.trim()
  if (homeId === undefined || homeId === '') {
    throw new Problem('not-found', {
      detail: `there is no home of Flotilla at ${paths.home}`,
      repair: 'Name the folder of the fleet with --home; nothing was written.',
    })
  }
  const passphrase = passphraseOf(context)
  const secrets = withSecrets(context, passphrase)
  // Two at once would sweep each other's cut away. The home's own lock is the mesh's.
  const one = await lockHome(`${paths.home}\0backup`, { pid: context.pid, deed: 'backing-up' })
  try {
    // A home whose settings were broken by hand is backed up too.
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
        progress: (step) => context.tell({ progress: step }),
        moved: (moved) => context.tell({ moved }),
        signal: context.stopped,
      })
      context.tell({ ...made })
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
  throw new Problem('bad-request', { detail: 'the file is missing: --file FILE' })
}

/** Null for a backup that nothing closes. */
export function passphraseOf({ env }: CommandContext): string | null {
  const passphrase = env['FLOTILLA_BACKUP_PASSPHRASE']
  return passphrase === undefined || passphrase === '' ? null : passphrase
}

function withSecrets({ backup: asked }: CommandContext, passphrase: string | null): boolean {
  const secrets = asked?.secrets
  if (secrets === 'none') return false
  if (passphrase !== null || secrets === 'plain') return true
  throw new Problem('bad-request', {
    detail:
      'the home has secrets (.env, data/mesh-secret), and without a passphrase everybody who gets the file could read them',
    repair:
      'Give a passphrase (--passphrase-file FILE), or say --without-secrets, or --secrets-in-plain for a file that you keep safe yourself.',
  })
}

interface OpenAgents {
  /** What holds the agents' data. */
  readonly runtime: RuntimeName
  readonly read: ReadAgentData
  /** Null where only the mesh that runs could count it. */
  readonly measure: (agentIds: readonly string[]) => Promise<number | null>
  close(): Promise<void>
}

/** By the mesh where one runs; else by the sandboxes themselves, while no mesh can begin on this machine. */
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

/** By the sandboxes themselves. Throws the Problem `home-in-use` for a home that a mesh elsewhere works on. */
async function openResting(
  context: CommandContext,
  { paths, homeId }: { readonly paths: DataPaths; readonly homeId: string },
): Promise<OpenAgents> {
  // Agents would be read where there are none.
  refuseElsewhere(context.environment, notedCluster(paths.clusterFile))
  const kind = context.environment.runtime ?? (await runtimeOf(paths))
  const inKind = { ...context, environment: { ...context.environment, runtime: kind } }
  // What is prepared has the walls of agents let this machine in, and not where their mesh is.
  await requireNoMesh({ context: inKind, homeId, paths })
  const log = createLog(context.environment.logLevel, openCommandOutput(context.pid))
  const runtime = chooseRuntime({ context: inKind, homeId, paths, log })
  try {
    const settings = await readSettingsFile(paths.settingsFile)
    await runtime.prepare({
      progress: (step) => context.tell({ progress: step }),
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

/** A home whose mesh rests says of a cluster that its agents live there; plain processes have folders in it. */
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
    detail: `a program holds ${paths.home} and is no mesh that answers yet`,
    repair: 'Try again once flotilla status answers.',
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
      // An answer that breaks off ends the stream with an error, so that half an archive is never taken for one.
      return {
        tar: reply,
        held: () => reply.trailers[heldTrailer] === 'true',
        leave: async () => void reply.destroy(),
      }
    }
    reply.resume()
    // Of this agent alone; the others are read.
    if (reply.statusCode !== 503)
      throw new Problem('unprocessable', {
        detail: `the mesh could not read it (status ${reply.statusCode}; the reason is in logs/mesh.log of the home)`,
        repair: 'Read logs/mesh.log of the home, then try again.',
      })
    if (tries >= busyTriesMax)
      throw new Problem('conflict', {
        detail: 'another backup of this home has read the data of an agent for ten minutes',
        repair: 'Wait for its end, then try again.',
      })
    await systemClock.sleep(busyWaitMs)
  }
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
    call.on('timeout', () => call.destroy(new Error('the mesh gave nothing for too long')))
    call.on('error', (cause) =>
      reject(
        new Problem('conflict', {
          detail: `the mesh does not answer any more: ${cause.message}`,
          repair: 'Look at flotilla status, then try again; nothing was kept of this backup.',
          cause,
        }),
      ),
    )
    call.end()
  })
}
