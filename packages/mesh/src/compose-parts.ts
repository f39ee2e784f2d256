import { join } from 'node:path'
import { createArtifacts } from './artifacts/artifacts.ts'
import { createBlackboard } from './blackboard/blackboard.ts'
import type { CommandContext } from './commands/command-context.ts'
import { composeControl, waitingForPeople } from './compose-control.ts'
import type { Control } from './compose-control.ts'
import { composeCron } from './compose-cron.ts'
import { composeHeartbeats } from './compose-heartbeat.ts'
import type { Heartbeats } from './compose-heartbeat.ts'
import { composeEgress } from './compose-egress.ts'
import { composeBudgets } from './compose-budgets.ts'
import {
  composeJournal,
  composeJournalKeeper,
  composeMeshSecret,
  journalTrust,
  mayBeBare,
} from './compose-journal.ts'
import { composeVault } from './compose-vault.ts'
import { composeWebhooks } from './compose-webhooks.ts'
import { composeWatch } from './compose-watch.ts'
import { cassetteFolders, composeModelDoor, composeModels, keepAliveMsOf } from './compose-model-door.ts'
import { composeTasks } from './compose-tasks.ts'
import { grantsIn, writeFirstPermissions } from './compose-permissions.ts'
import { composeRuntime } from './compose-runtime.ts'
import { composeStorage } from './compose-storage.ts'
import { dataLimitBytes } from './config/settings-file.ts'
import { createFileEditor } from './config/atomic-file.ts'
import type { DataPaths } from './config/data-paths.ts'
import type { HomeFolder } from './config/home-folder.ts'
import { watchSettings } from './config/watch-settings.ts'
import { createEventBus } from './events/create-event-bus.ts'
import { createFleet } from './fleet/fleet.ts'
import { createMeshIdentity } from './fleet/mesh-identity.ts'
import { createAgentShares } from './intake/agent-shares.ts'
import type { Log } from './log.ts'
import { createNotes } from './notes/notes.ts'
import { createPauses } from './pauses/pauses.ts'
import { authorize } from './policy/authorize.ts'
import { createRateLimits } from './policy/rate-limits.ts'
import { createJournalGrants } from './policy/journal-grants.ts'
import { createDenialCounts } from './policy/denial-counts.ts'
import { createGuard } from './policy/guard.ts'
import { createPermissionFile } from './policy/permission-file.ts'
import { createRefuseAboveCeiling } from './policy/hold-ceiling.ts'
import { createRequireModel } from './llm/require-model.ts'
import { createEffectOnce } from './runs/effect-once.ts'
import { createLedger } from './runs/ledger.ts'
import { loopCpuMs, randomId, randomToken, systemClock } from './system-clock.ts'
import { createMoveTask } from './tasks/move-task.ts'
import { createTaskBook } from './tasks/task-book.ts'
import { createTaskTable } from './tasks/task-table.ts'
import { createTopics } from './topics/topics.ts'
import { createVault } from './vault/vault.ts'
import { createWallWatch } from './walls/watch-walls.ts'

export interface MeshSettings {
  readonly context: CommandContext
  readonly home: HomeFolder
  readonly paths: DataPaths
  readonly log: Log
}

const clock = systemClock
const newId = randomId

/** THE composition root: every implementation is named here or in the files called compose-*, and nowhere else. */
export async function composeParts({ context, home, paths, log }: MeshSettings) {
  const { environment, env, repositoryRoot } = context
  const editor = createFileEditor()
  await writeFirstPermissions(paths)
  const { database, diskRoom } = composeStorage(paths, log)
  const bareHead = mayBeBare(paths, database)
  const meshSecret = await composeMeshSecret({ env, paths, editor, database, log })
  const vault = await createVault({ env, envFilePath: paths.envFile, editor })
  const trust = journalTrust(paths, meshSecret, bareHead)
  const journal = composeJournal({ database, trust })
  const events = createEventBus({ database, clock, log })
  const effects = createEffectOnce({ database, clock })
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
    onRecords: createJournalGrants({ database, journal, log }),
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
  const { catalog, recorder, missingModel } = composeModels({
    context,
    settings,
    vault,
    envFile: paths.envFile,
    cassetteFolders: cassetteFolders(paths.cassettesFolder, repositoryRoot),
  })
  const refuseAbove = createRefuseAboveCeiling({ denials, journal, events, log })
  const requireModel = createRequireModel({ catalog, refuseAbove })
  const shares = createAgentShares({ clock, cpuMs: loopCpuMs })
  const rates = createRateLimits({ clock, perMinute: () => settings.current().rate_limits, journal })
  const blackboard = createBlackboard({
    database,
    clock,
    log,
    guard,
    decide,
    journal,
    events,
    projectOf: (agentId) => fleet.find(agentId)?.project ?? null,
  })
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
  const topics = createTopics({ database, clock, newId, guard, decide, journal, events })
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
    replies: { held: shares.held.replies, loop: shares.replies },
    meshIdentity: createMeshIdentity({ secret: meshSecret.reveal(), clock }),
    defaultModel: catalog.defaultModel,
    missingModel,
    requireModel,
    loopLimits: {
      FLOTILLA_MAX_ITERATIONS: String(environment.maxIterations),
      FLOTILLA_CHAT_MAX_TOOL_ROUNDS: String(environment.chatMaxToolRounds),
      FLOTILLA_CHAT_MAX_TOTAL_ROUNDS: String(environment.chatMaxTotalRounds),
      FLOTILLA_KEEP_ALIVE_MS: String(keepAliveMsOf(settings.current())),
      FLOTILLA_EMBEDDING_MODEL: settings.current().embedding_model ?? '',
    },
    dataLimitBytes: (agentId) => dataLimitBytes(settings.current(), agentId),
    projectText: () => '',
    walls: { hold: () => walls.state().broken === null },
    reached: (id) => heartbeats.reached(id),
    heartbeats: { plan: (id, wanted) => heartbeats.plan(id, wanted), drop: (id) => heartbeats.drop(id) },
    requireForgettable: () => cron.requireWhole(),
    forget: [
      artifacts.forget,
      rates.forget,
      shares.calls.forget,
      shares.replies.forget,
      (id) => egress.counts.forget(id),
      blackboard.crossProject.forget,
      (id) => control.forget(id),
      (id) => vaultRoom.requests.forget(id),
      (id) => webhooks.forget(id),
      denials.forget,
      (id) => pauses.forget(id),
      (id) => cron.forget(id),
      (id) => heartbeats.forget(id),
      topics.forget,
    ],
  })
  const pauses = createPauses({
    database,
    clock,
    guard,
    journal,
    events,
    lanes: () => ledger,
    agentIds: () => fleet.list().map(({ id }) => id),
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
    diskRoom,
    requireAgent: fleet.requireWorking,
    pausedReason: pauses.reasonFor,
    tasks: waitingForPeople(createTaskBook({ table: taskTable, moveTask }), database),
    onRunSettled: [
      (run) => control.approvals.runSettled(run),
      (run) => webhooks.runSettled(run),
      topics.runSettled,
      (run) => cron.runSettled(run),
      (run) => database.afterCommit(() => effects.runEnded(run.id)),
    ],
    promote: (caller, entries) => {
      if (caller.kind !== 'agent') return
      const { refused } = blackboard.promote(caller.agentId, entries)
      if (refused.length > 0) log.warn({ agentId: caller.agentId, refused }, 'promotions refused')
    },
  })
  const tasks = composeTasks({ database, ledger, table: taskTable, moveTask, events, guard, clock, newId })
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
    modelInUse: fleet.modelInUse,
    // The way out hangs on leases, which the model door keeps.
    fetchMedia: (caller, asked, signal) => egress.fetchMedia(caller, asked, signal),
    spend: shares.calls.spend,
  })
  const kept = { vault, meshSecret, paths, editor, rates, database }
  const vaultRoom = await composeVault({ ...kept, journal, guard, decide, notes, ledger, log })
  const egress = composeEgress({
    credentials: vaultRoom.open,
    mcpServersOf: fleet.mcpServers.of,
    vault,
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
  const budgets = composeBudgets({ database, journal, events, guard, denials, log, fleet, modelDoor })
  const control: Control = composeControl({
    database,
    fleet,
    ledger,
    permissions,
    setBudget: budgets.setBudget,
    requireModel,
    denials,
    guard,
    journal,
    events,
    clock,
    newId,
    log,
  })
  const webhooks = composeWebhooks({
    database,
    vault,
    submitRun: ledger.submitRun,
    requireAgent: fleet.requireWorking,
    perMinute: () => settings.current().webhooks.per_minute,
    guard,
    journal,
    newId,
    log,
  })
  const acting = { database, clock, newId, log, guard, decide, journal, events, ledger, fleet, notes }
  const pausedReason = pauses.reasonFor
  const cron = await composeCron({
    ...acting,
    editor,
    pausedReason,
    path: paths.cronFile,
    fireHeartbeat: (agentId, due) => heartbeats.fire(agentId, due),
  })
  const heartbeats: Heartbeats = composeHeartbeats({
    database,
    fleet,
    ledger,
    taskTable,
    runtime,
    dataLimitBytes: (agentId) => dataLimitBytes(settings.current(), agentId),
    guard,
    journal,
    log,
    unreadSignals: topics.unreadSignals,
    jobs: cron.heartbeatJobs,
    pausedReason: pauses.reasonFor,
  })
  const watch = composeWatch({ database, paths, ledger, guard, events, log, pausedReason: pauses.reasonFor })
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
    shares,
    budgets,
    events,
    settings,
    permissions,
    denials,
    guard,
    runtime,
    walls,
    catalog,
    missingModel,
    recorder,
    blackboard,
    artifacts,
    notes,
    topics,
    fleet,
    pauses,
    ledger,
    tasks,
    modelDoor,
    forwardRequest: egress.forwardRequest,
    egress,
    vaultRoom,
    webhooks,
    effects,
    watch,
    control,
    cron,
    heartbeats,
    startedAt,
    diskRoom,
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
