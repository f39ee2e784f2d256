import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { Problem, withChanges } from '@flotilla/protocol/problem'
import {
  requireRoomForRestore,
  restoreBackup,
  verifyBackup,
  whatIsMissing,
} from '@flotilla/operations/backup'
import type { MovedBytes } from '@flotilla/operations/backup'
import {
  dataLimitBytes,
  dataPaths,
  homeIdPath,
  isHeldByMesh,
  isRestoreUnfinished,
  lockHome,
  openHomeFolder,
  readSettingsFile,
  readTextFile,
  wipeUnfinishedRestore,
} from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { SandboxError } from '@flotilla/fleet/sandbox'
import { newestSchemaStep } from '@flotilla/foundation/storage'
import { notedCluster, refuseElsewhere } from '../choose-cluster.ts'
import { chooseRuntime, eraseAgents } from '../choose-runtime.ts'
import { holdLedger, requireNoMesh } from '../hold-ledger.ts'
import type { HeldLedger } from '../hold-ledger.ts'
import { passphraseOf, requireFile } from './backup.ts'
import { commandLog } from './command-context.ts'
import type { CommandContext } from './command-context.ts'

/**
 * Restores the backup `--file` into the home, which must be empty. Nothing is written before the whole file was read
 * and verified.
 */
export async function restore(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const file = resolve(requireFile(context))
  const passphrase = passphraseOf(context)
  const progress = (step: string) => context.print({ progress: step })
  const moved = (done: MovedBytes) => context.print({ moved: done })
  await mkdir(paths.home, { recursive: true, mode: 0o700 })
  const lock = await lockForRestore(context, paths.home)
  const held: { ledger: HeldLedger | null } = { ledger: null }
  try {
    await refuseLiveHome(context, paths)
    progress('Reading the whole backup to check it')
    const without = context.backup?.without ?? []
    // Data of an interrupted restore still uses space, and is deleted once the backup was checked.
    const isAgain = await isRestoreUnfinished(paths)
    const verified = await verifyBackup({
      file,
      passphrase,
      temporary: tmpdir(),
      moved,
      fits: async ({ about, homeBytes, agents }) => {
        if (isAgain) return
        const isElsewhere = (context.environment.runtime ?? about.runtime) === 'kubernetes'
        const written = isElsewhere ? [] : agents.filter(({ agent }) => !without.includes(agent))
        await requireRoomForRestore(paths.home, { homeBytes, agents: written })
      },
    })
    if (verified.about.schema > newestSchemaStep) {
      throw new Problem('unprocessable', {
        detail: `the backup was written by release ${verified.about.product}, whose database (schema step ${verified.about.schema}) this release cannot read`,
        repair: `Restore the backup with release ${verified.about.product} or a newer one; nothing was written.`,
      })
    }
    if (isAgain) await startOver(context, paths)
    const runtime = context.environment.runtime ?? verified.about.runtime
    const inRuntime = { ...context, environment: { ...context.environment, runtime } }
    const { homeId, leftOut } = await restoreBackup({
      paths,
      file,
      passphrase,
      verified,
      without,
      agentsElsewhere: runtime === 'kubernetes',
      openHome: async () => {
        const home = await openHomeFolder(paths)
        const log = commandLog(context)
        // With this lease, until the restore ends, no mesh can start and another machine cannot restore the home.
        held.ledger = await holdLedger({ context: inRuntime, homeId: home.homeId, paths, log })
        return home
      },
      openAgents: (home) => openAgents(inRuntime, { paths, ...home }),
      progress,
      moved,
    })
    const { about, agents } = verified
    const restored = agents.filter(({ agent }) => !leftOut.some((one) => one.agent === agent))
    const { skipped } = whatIsMissing({ home: about.skipped, agents: restored })
    context.print({ restored: true, home: paths.home, home_id: homeId, about, skipped, left_out: leftOut })
    return 0
  } finally {
    await held.ledger?.release()
    await lock.release()
  }
}

function lockForRestore(context: CommandContext, home: string) {
  return lockHome(home, { pid: context.pid, deed: 'restoring' }).catch((error: unknown) => {
    const isPod = context.environment.kubernetes.service !== null
    throw isPod && error instanceof Problem && isHeldByMesh(error)
      ? withChanges(error, { repair: podRepair })
      : error
  })
}

/** Repair text for a cluster, which would restart a mesh that a command in the mesh's pod had stopped. */
const podRepair =
  'Put the pod into restore mode (kubectl apply --filename deploy/kubernetes/restore.yaml, or restore.enabled=true of the chart), and run flotilla restore in it.'

/** Checks that no mesh on another machine uses the home, before the backup is read, which takes time. */
async function refuseLiveHome(context: CommandContext, paths: DataPaths): Promise<void> {
  // What an interrupted restore wrote into a cluster can be deleted only through that cluster.
  if (await isRestoreUnfinished(paths)) refuseElsewhere(context.environment, notedCluster(paths.clusterFile))
  const homeId = await homeIdOf(paths)
  if (homeId !== null) await requireNoMesh({ context, homeId, paths })
}

async function homeIdOf(paths: DataPaths): Promise<string | null> {
  return (await readTextFile(homeIdPath(paths)))?.trim() || null
}

/** Returns functions that write agents' data. Prepares the engine for the first agent with data, not before. */
async function openAgents(
  context: CommandContext,
  { paths, homeId }: { readonly paths: DataPaths; readonly homeId: string },
) {
  const runtime = await chooseRuntime({
    context,
    homeId,
    paths,
    log: commandLog(context),
  })
  let ready: Promise<void> | null = null
  const prepare = () =>
    (ready ??= runtime.prepare({
      progress: (step) => context.print({ progress: step }),
      signal: context.stopped,
    }))
  return {
    prepare,
    write: async (agentId: string, tar: AsyncIterable<Uint8Array>) => {
      await prepare()
      const settings = await readSettingsFile(paths.settingsFile)
      try {
        await runtime.writeData(agentId, tar, { dataLimitBytes: dataLimitBytes(settings, agentId) })
      } catch (error) {
        // Partial data would be taken for complete, so it is deleted, but not if the agent's data existed before this
        // restore.
        if (!(error instanceof SandboxError && error.id === 'data-there'))
          await runtime.remove(agentId, { data: true })
        throw error
      }
    },
    close: () => runtime.close(),
  }
}

/** Deletes what an interrupted restore wrote into the engine and the home. */
async function startOver(context: CommandContext, paths: DataPaths): Promise<void> {
  const progress = (step: string) => context.print({ progress: step })
  progress('An earlier restore of this home was interrupted: deleting its incomplete files')
  const homeId = await homeIdOf(paths)
  if (homeId !== null) await eraseAgents({ context, homeId, paths, log: commandLog(context) }, progress)
  await wipeUnfinishedRestore(paths)
}
