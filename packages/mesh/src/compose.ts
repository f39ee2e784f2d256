import { join } from 'node:path'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { createArtifacts } from './artifacts/artifacts.ts'
import { createBlackboard } from './blackboard/blackboard.ts'
import type { CommandContext } from './commands/command-context.ts'
import { agentDoor, humanDoor, openOutside, portOf } from './compose-doors.ts'
import { cassetteFolders, composeModelDoor, composeModels, keepAliveMsOf } from './compose-model-door.ts'
import { composeEgress } from './compose-egress.ts'
import { listen, listenForAgents } from './compose-listen.ts'
import { composeBudgets } from './compose-budgets.ts'
import { composeJournal, composeJournalKeeper, journalTrust, tellEnd, tellStart } from './compose-journal.ts'
import { composeVault } from './compose-vault.ts'
import { grantsIn, writeFirstPermissions } from './compose-permissions.ts'
import { composeRuntime } from './compose-runtime.ts'
import { createFileEditor } from './config/atomic-file.ts'
import type { DataPaths } from './config/data-paths.ts'
import type { HomeFolder } from './config/home-folder.ts'
import { watchSettings } from './config/watch-settings.ts'
import { createEventBus } from './events/create-event-bus.ts'
import { createFleet } from './fleet/fleet.ts'
import { createMeshIdentity } from './fleet/mesh-identity.ts'
import type { Log } from './log.ts'
import { createNotes } from './notes/notes.ts'
import { authorize } from './policy/authorize.ts'
import { createRateLimits } from './policy/rate-limits.ts'
import { createJournalGrants } from './policy/journal-grants.ts'
import { createDenialCounts } from './policy/denial-counts.ts'
import { createGuard } from './policy/guard.ts'
import { createPermissionFile } from './policy/permission-file.ts'
import { createEffectOnce } from './runs/effect-once.ts'
import { createLedger } from './runs/ledger.ts'
import { allMigrations } from './storage/all-migrations.ts'
import { openDatabase } from './storage/database.ts'
import { migrate } from './storage/migrate.ts'
import { randomId, randomToken, systemClock } from './system-clock.ts'
import { createCompleteTask } from './tasks/complete-task.ts'
import { createHandOff } from './tasks/hand-off.ts'
import { createListInbox, createListTasks } from './tasks/list-inbox.ts'
import { createMoveTask } from './tasks/move-task.ts'
import { createTaskBook } from './tasks/task-book.ts'
import { createTaskTable } from './tasks/task-table.ts'
import { createVault } from './vault/vault.ts'
import { createWallWatch } from './walls/watch-walls.ts'

export interface MeshSettings {
  readonly context: CommandContext
  readonly home: HomeFolder
  readonly paths: DataPaths
  readonly log: Log
}

export interface Mesh {
  /** Resolves once both doors answer, every wall held, and the ledger works. */
  start(progress: (step: string) => void): Promise<{
    readonly url: string
    readonly port: number
    readonly agentPort: number
    readonly proxyPort: number
  }>
  /** Stops what was started, in reverse; agents' sandboxes too. */
  close(): Promise<void>
}

const housekeepingIntervalMs = 60_000
const noModelYet =
  'No model is set up yet: put FLOTILLA_SYSTEM_OPENAI_API_KEY=... (or ANTHROPIC, GOOGLE, ...) into .env of the home and start again (flotilla doctor tells more)'
const clock = systemClock
const newId = randomId

/** THE composition root: every implementation is named here or in the files called compose-*, and nowhere else. */
async function composeParts({ context, home, paths, log }: MeshSettings) {
  const { environment, env, repositoryRoot } = context
  const editor = createFileEditor()
  const vault = await createVault({ env, envFilePath: paths.envFile, editor })
  const meshSecret = await vault.ensureSystem('mesh_secret', randomToken)
  await writeFirstPermissions(paths)
  const database = openDatabase(paths.database, {
    onEffectError: (error) => log.error({ err: error }, 'what followed a commit failed'),
  })
  migrate(database, allMigrations, paths.database)
  const trust = journalTrust(paths, meshSecret)
  const journal = composeJournal({ database, trust })
  const events = createEventBus({ database, clock, log })
  const settings = await watchSettings({
    path: paths.settingsFile,
    clock,
    editor,
    onBroken: (detail) => log.error({ detail }, 'settings are not used; the last whole ones go on'),
    onStripped: (names) => log.warn({ names }, 'secrets were taken out of the settings file'),
  })
  const journalKeeper = composeJournalKeeper({ database, journal, trust, settings, events, log })
  journalKeeper.verify()
  const permissions = await createPermissionFile({
    path: paths.permissionsFile,
    editor,
    clock,
    log,
    onBroken: (detail) => {
      if (detail !== null) events.publish({ type: 'permissions.broken', detail })
    },
    onRecords: createJournalGrants({ database, journal }),
  })
  const denials = createDenialCounts(clock)
  const guard = createGuard({ permissions, denials, journal, events, clock, log })
  const decide: Parameters<typeof createFleet>[0]['decide'] = (caller, action) =>
    authorize(permissions.snapshot(), caller, action)
  const runtime = composeRuntime({ context, homeId: home.homeId, paths, log })
  let doorPort = environment.agentPort
  /** Of this mesh: no exception of the owner's ever opens them to agents. */
  const openPorts: number[] = []
  const walls = createWallWatch({ runtime, doorPort: () => doorPort, clock, events, journal, log })
  const { catalog, recorder } = composeModels({
    context,
    settings,
    vault,
    cassetteFolders: cassetteFolders(paths.cassettesFolder, repositoryRoot),
  })
  const rates = createRateLimits({ clock, perMinute: () => settings.current().rate_limits, journal })
  const blackboard = createBlackboard({ database, clock, log, guard, decide, journal, events })
  const artifacts = createArtifacts({
    database,
    clock,
    randomToken,
    guard,
    journal,
    events,
    artifactsFolder: paths.artifactsFolder,
  })
  const notes = createNotes({ database, clock, newId, guard, journal, events })
  const fleet = createFleet({
    database,
    clock,
    newId,
    randomToken,
    log,
    guard,
    decide,
    permissionsOf: (agentId) => permissions.snapshot().recordOf(agentId) ?? null,
    grants: grantsIn(permissions),
    journal,
    events,
    runtime,
    briefsFolder: paths.briefsFolder,
    templateFolders: [paths.templatesFolder, join(repositoryRoot, 'templates')],
    doorPort: () => doorPort,
    proxyPort: () => egress.proxy.port(),
    meshIdentity: createMeshIdentity({ secret: meshSecret.reveal(), clock }),
    defaultModel: catalog.defaultModel,
    requireModel: catalog.requireUsable,
    loopLimits: {
      FLOTILLA_MAX_ITERATIONS: String(environment.maxIterations),
      FLOTILLA_CHAT_MAX_TOOL_ROUNDS: String(environment.chatMaxToolRounds),
      FLOTILLA_CHAT_MAX_TOTAL_ROUNDS: String(environment.chatMaxTotalRounds),
      FLOTILLA_KEEP_ALIVE_MS: String(keepAliveMsOf(settings.current())),
    },
    projectText: () => '',
    walls: { hold: () => walls.state().broken === null },
    forget: [artifacts.forget, rates.forget, (agentId) => egress.counts.forget(agentId)],
  })
  const taskTable = createTaskTable(database)
  const moveTask = createMoveTask({ database, table: taskTable, events, journal, clock })
  const ledger = createLedger({
    database,
    clock,
    newId,
    log,
    guard,
    journal,
    events,
    connections: fleet,
    agentExists: (agentId) => fleet.find(agentId) !== null,
    tasks: createTaskBook({ table: taskTable, moveTask }),
    promote: (caller, entries) => {
      if (caller.kind !== 'agent') return
      const { refused } = blackboard.promote(caller.agentId, entries)
      if (refused.length > 0) log.warn({ agentId: caller.agentId, refused }, 'promotions refused')
    },
  })
  const tasks = {
    handOff: createHandOff({ database, ledger, table: taskTable, events, guard, clock, newId }),
    completeTask: createCompleteTask({ database, ledger, table: taskTable, moveTask, guard }),
    listInbox: createListInbox({ table: taskTable, guard }),
    listTasks: createListTasks({ table: taskTable, guard }),
  }
  const modelDoor = composeModelDoor({
    catalog,
    settings,
    database,
    events,
    journal,
    guard,
    log,
    ledger,
    findAgent: fleet.find,
    agentIds: () => fleet.list().map(({ id }) => id),
  })
  const kept = { vault, meshSecret, paths, editor, rates, database }
  const vaultRoom = await composeVault({ ...kept, journal, guard, decide, notes, ledger, log })
  const egress = composeEgress({
    credentials: vaultRoom.open,
    context,
    settings,
    rates,
    runtime,
    guard,
    journal,
    log,
    database,
    holdLease: modelDoor.holdLease,
    liveRunOf: ledger.live.liveRunOf,
    verifyToken: fleet.verifyToken,
    doorPorts: () => openPorts,
  })
  const budgets = composeBudgets({ database, journal, events, guard, fleet, modelDoor })
  const effects = createEffectOnce({ database, clock })
  const startedAt = clock.now()
  let serving = false
  return {
    context,
    paths,
    homeId: home.homeId,
    log,
    database,
    journal,
    journalKeeper,
    trust,
    rates,
    budgets,
    events,
    settings,
    permissions,
    denials,
    guard,
    runtime,
    walls,
    catalog,
    recorder,
    blackboard,
    artifacts,
    notes,
    fleet,
    ledger,
    tasks,
    modelDoor,
    forwardRequest: egress.forwardRequest,
    egress,
    vaultRoom,
    effects,
    startedAt,
    isServing: () => serving,
    setServing: (value: boolean) => {
      serving = value
    },
    openPorts,
    setDoorPort: (port: number) => {
      doorPort = port
    },
  }
}

export type MeshParts = Awaited<ReturnType<typeof composeParts>>

export async function composeMesh(meshSettings: MeshSettings): Promise<Mesh> {
  const parts = await composeParts(meshSettings)
  const { context, paths, log, runtime, walls, fleet, ledger, blackboard } = parts
  const { environment } = context
  const human = humanDoor(parts)
  const agents = agentDoor(parts)
  const closing = new AbortController()
  const loops: Promise<unknown>[] = []
  let closeOutside = async (): Promise<void> => {}

  return {
    async start(progress) {
      // Taken first: a port in use is better known now than after minutes of preparing.
      await listen(human, environment.port, '127.0.0.1')
      closeOutside = await openOutside(parts, listen)
      await runtime.prepare({ progress, signal: context.stopped })
      await parts.egress.networks.refresh()
      progress('Opening the agent door')
      const { proxy } = parts.egress
      await listenForAgents({ runtime, agents, proxy }, { agentPort: environment.agentPort, paths })
      parts.setDoorPort(portOf(agents))
      parts.openPorts.push(portOf(human), portOf(agents), proxy.port())
      progress(
        runtime.isolates
          ? 'Trying the walls from inside a probe container'
          : 'Nothing is isolated: agents run as plain processes',
      )
      const { broken } = await walls.verify(context.stopped)
      if (broken !== null) throw new Problem('fleet-paused', { detail: broken })
      const leftOpen = parts.modelDoor.gate.settleLeftOpen()
      await parts.artifacts.sweep()
      const report = await fleet.reconcile()
      log.info({ ...report, leftOpen }, 'fleet reconciled')
      await fleet.ensureOperator()
      ledger.start()
      // One that is being re-created is awaited by whoever re-creates it.
      fleet.onSandboxGone(({ agentId, reason }) => {
        parts.egress.cutAgent(agentId)
        if (reason !== 'restarted') ledger.agentGone(agentId)
      })
      loops.push(
        fleet.run(closing.signal),
        walls.watch(closing.signal),
        parts.egress.run(closing.signal),
        blackboard.run(closing.signal),
        keepHouse(),
      )
      tellStart(parts)
      parts.setServing(true)
      if (parts.catalog.defaultModel() === null) progress(noModelYet)
      warmOperator()
      const port = portOf(human)
      return {
        url: `http://127.0.0.1:${port}`,
        port,
        agentPort: portOf(agents),
        proxyPort: parts.egress.proxy.port(),
      }
    },

    async close() {
      parts.setServing(false)
      closing.abort()
      await ledger.close()
      await stopAgents()
      const { proxy } = parts.egress
      await Promise.allSettled([human.close(), closeOutside(), agents.close(), proxy.close()])
      await Promise.allSettled(loops)
      await fleet.close()
      await Promise.allSettled([
        parts.catalog.close(),
        parts.permissions.close(),
        parts.vaultRoom.bindings.close(),
        parts.settings.close(),
        runtime.close(),
      ])
      parts.modelDoor.close()
      tellEnd(parts)
      parts.database.close()
    },
  }

  async function keepHouse(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        parts.effects.forgetOld()
        parts.budgets.journalSpend()
        parts.journalKeeper.tend()
        parts.vaultRoom.requests.sweep()
      } catch (error) {
        log.error({ err: error }, 'the house could not be kept')
      }
      await clock.sleep(housekeepingIntervalMs, closing.signal).catch(() => {})
    }
  }

  /** The first question should not wait for a container; where no model is set yet, it is told when it asks. */
  function warmOperator(): void {
    fleet.ensureRunning(operatorAgentId, closing.signal).catch((error: unknown) => {
      log.warn({ agentId: operatorAgentId, err: error }, 'operator not started ahead')
    })
  }

  async function stopAgents(): Promise<void> {
    const stops = fleet.list().map(({ id }) => fleet.stop(id, 'the mesh stops'))
    for (const stop of await Promise.allSettled(stops)) {
      if (stop.status === 'rejected') log.warn({ err: stop.reason }, 'an agent was not stopped')
    }
  }
}
