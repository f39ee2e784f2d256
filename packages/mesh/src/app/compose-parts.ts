import { join } from 'node:path'
import { createArtifacts } from '../collaboration/artifacts/artifacts.ts'
import { createBlackboard } from '../collaboration/blackboard/blackboard.ts'
import type { CommandContext } from './commands/command-context.ts'
import { createApprovalTable } from '../control/approvals/approval-table.ts'
import { topicsModule } from '../collaboration/topics/index.ts'
import type { MeshModule } from '../kernel/mesh-module.ts'
import { createKernel } from './create-kernel.ts'
import { composeControl } from './compose-control.ts'
import type { Control } from './compose-control.ts'
import { composeCron } from './compose-cron.ts'
import { composeHeartbeats } from './compose-heartbeat.ts'
import type { Heartbeats } from './compose-heartbeat.ts'
import { composeEgress } from './compose-egress.ts'
import { composeBudgets } from './compose-budgets.ts'
import { composeVault } from './compose-vault.ts'
import { composeWebhooks } from './compose-webhooks.ts'
import { composeWatch } from './compose-watch.ts'
import { cassetteFolders, composeModelDoor, composeModels, keepAliveMsOf } from './compose-model-door.ts'
import { composeTasks } from './compose-tasks.ts'
import { grantsIn } from './compose-permissions.ts'
import { composeRuntime } from './compose-runtime.ts'
import { dataLimitBytes } from '../config/settings-file.ts'
import type { DataPaths } from '../config/data-paths.ts'
import type { HomeFolder } from '../config/home-folder.ts'
import { createFleet } from '../agents/fleet.ts'
import { createMeshIdentity } from '../agents/connection/mesh-identity.ts'
import type { Log } from '../platform/log.ts'
import { createNotes } from '../collaboration/notes/notes.ts'
import { createPauses } from '../control/pauses/pauses.ts'
import { createRequireModel } from '../models/gateway/require-model.ts'
import { createLedger } from '../runs/ledger.ts'
import { randomId, randomToken, systemClock } from '../platform/system-clock.ts'
import { createMoveTask } from '../tasks/move-task.ts'
import { createTaskBook } from '../tasks/task-book.ts'
import { createTaskTable } from '../tasks/task-table.ts'
import { createWallWatch } from '../isolation/watch-walls.ts'

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
  const foundation = await createKernel({ env, paths, log, agentPort: environment.agentPort })
  const { kernel, editor, diskRoom, meshSecret, vault, settings, journalKeeper } = foundation
  const { permissions, denials, effects, rates, shares, refuseAbove } = foundation
  const { database, journal, events, guard, decide, hooks, ports } = kernel
  const runtime = composeRuntime({ context, homeId: home.homeId, paths, log })
  const walls = createWallWatch({ runtime, doorPort: () => ports.agentDoor, clock, events, journal, log })
  const { catalog, recorder, missingModel } = composeModels({
    context,
    settings,
    vault,
    envFile: paths.envFile,
    cassetteFolders: cassetteFolders(paths.cassettesFolder, repositoryRoot),
  })
  const modules: MeshModule[] = []
  const requireModel = createRequireModel({ catalog, refuseAbove })
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
    doorPort: () => ports.agentDoor,
    proxyPort: () => ports.proxy,
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
    hooks,
  })
  hooks.agentFilesDropped.subscribe(artifacts.forget)
  hooks.agentDeleted.subscribe(blackboard.crossProject.forget)
  hooks.entriesPromoted.subscribe(({ agentId, entries }) => {
    const { refused } = blackboard.promote(agentId, entries)
    if (refused.length > 0) log.warn({ agentId, refused }, 'promotions refused')
  })
  const topics = topicsModule(kernel, { agents: fleet })
  modules.push(topics)
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
    tasks: createTaskBook({ table: taskTable, moveTask }),
    hooks,
  })
  hooks.reasonsToPause.subscribe((agentId) => [pauses.reasonFor(agentId)].filter((reason) => reason !== null))
  hooks.agentDeleted.subscribe(pauses.forget)
  hooks.runAwaits.subscribe(createApprovalTable(database).openOf)
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
    doorPorts: () => ports.open,
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
    unreadSignals: topics.api.unreadSignals,
    jobs: cron.heartbeatJobs,
    pausedReason: pauses.reasonFor,
  })
  hooks.sandboxGone.subscribe(({ agentId, reason }) => {
    egress.cutAgent(agentId)
    // One that is being re-created is awaited by whoever re-creates it.
    if (reason !== 'restarted') ledger.agentGone(agentId)
  })
  hooks.agentPlanned.subscribe(({ agentId, heartbeat }) => heartbeats.plan(agentId, heartbeat))
  hooks.agentUnplanned.subscribe(heartbeats.drop)
  hooks.agentReached.subscribe(heartbeats.reached)
  hooks.agentLeaving.subscribe(cron.requireWhole)
  hooks.agentFilesDropped.subscribe(cron.forget)
  hooks.agentFilesDropped.subscribe(heartbeats.forget)
  for (const forget of [egress.counts.forget, control.forget, vaultRoom.requests.forget, webhooks.forget]) {
    hooks.agentDeleted.subscribe(forget)
  }
  for (const settled of [control.approvals.runSettled, webhooks.runSettled, cron.runSettled]) {
    hooks.runSettled.subscribe(settled)
  }
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
    kernel,
    modules,
    topics: topics.api,
    ports,
  }
}

export type MeshParts = Awaited<ReturnType<typeof composeParts>>
