import { join } from 'node:path'
import { backupModule } from '@flotilla/operations/backup'
import { agentsModule } from '@flotilla/fleet/agents'
import { approvalsModule } from '@flotilla/work/approvals'
import { browserModule } from '@flotilla/browsing'
import { collaborationModules } from '@flotilla/collaboration'
import { channelsModule } from '@flotilla/inbound/channels'
import { controlModule } from '@flotilla/operations/control'
import { credentialsModule } from '@flotilla/egress/credentials'
import { dashboardModule } from '@flotilla/operations/dashboard'
import { diagnosticsModule } from '@flotilla/operations/diagnostics'
import { egressModule } from '@flotilla/egress/egress'
import { introspectionModule } from '@flotilla/operations/introspection'
import { isolationModule } from '@flotilla/fleet/isolation'
import { modelCatalog, modelsModule } from '@flotilla/inference/models'
import { pausesModule } from '@flotilla/work/pauses'
import { peopleModule } from '@flotilla/identity/people'
import { replayModule, runRecords } from '@flotilla/inference/replay'
import { runsModule } from '@flotilla/work/runs'
import { setupModule } from '@flotilla/operations/setup'
import { skillsModule } from '@flotilla/egress/skills'
import { spawningModule } from '@flotilla/work/spawning'
import { spendingModule } from '@flotilla/inference/spending'
import { createTaskStore, tasksModule } from '@flotilla/work/tasks'
import { telemetryModule } from '@flotilla/operations/telemetry'
import { templatesModule } from '@flotilla/operations/templates'
import { cronModule, openCronJobs } from '@flotilla/inbound/triggers/cron'
import { heartbeatModule } from '@flotilla/inbound/triggers/heartbeat'
import { watchModule } from '@flotilla/inbound/triggers/watch'
import { webhookModule } from '@flotilla/inbound/triggers/webhook'
import { walletModule } from '@flotilla/wallet'
import { chooseRuntime } from './choose-runtime.ts'
import { createKernel } from './create-kernel.ts'
import { loopLimits } from './loop-limits.ts'
import type { MeshSettings } from './mesh-settings.ts'

/**
 * Creates each module from the kernel and the modules that it depends on. Decides and starts nothing; see
 * `lifecycle.ts`.
 */
export async function compose({ context, home, paths, log, fence }: MeshSettings) {
  const { environment, env, repositoryRoot } = context
  const foundation = await createKernel({ env, paths, log, fence, agentPort: environment.agentPort })
  const { kernel, vault, meshSecret, editor, permissions, denials, rates, shares, refuseAbove } = foundation
  const runtime = chooseRuntime({ context, homeId: home.homeId, paths, log })
  const records = runRecords(kernel, { vault })
  const known = modelCatalog(kernel, {
    listen: records.recorder.wrap,
    environment,
    vault,
    envFile: paths.envFile,
    cassetteFolders: [paths.cassettesFolder, join(repositoryRoot, 'cassettes')], // The owner's folder has precedence.
    refuseAbove,
  })
  const people = await peopleModule(kernel, { path: paths.peopleFile, editor })
  const isolation = isolationModule(kernel, { runtime, atLeast: environment.isolation })
  const agents = agentsModule(kernel, {
    runtime,
    isolation: isolation.api,
    permissions,
    models: known,
    replies: { held: shares.held.replies, downloads: shares.held.downloads, loop: shares.replies },
    loopLimits: loopLimits(environment, kernel.settings()),
    briefsFolder: paths.briefsFolder,
    secret: meshSecret.reveal(),
  })
  const store = createTaskStore(kernel)
  const runs = runsModule(kernel, { ...foundation, agents: agents.api, tasks: store.ofRuns })
  const led = { agents: agents.api, runs: runs.api, environment }
  const tasks = tasksModule(kernel, { ...led, store, isolation: isolation.api })
  const working = { ...led, tasks: tasks.api, people: people.api }
  const telemetry = telemetryModule(kernel, { runs: runs.api, ...environment })
  const spending = spendingModule(kernel, { ...working, refuseAbove })
  const paid = { ...working, permissions, shares, spending: spending.api }
  const spawning = spawningModule(kernel, { ...working, store, permissions })
  const collaboration = collaborationModules(kernel, { ...paid, artifactsFolder: paths.artifactsFolder })
  const { blackboard, artifacts, notes, messages, topics, projects } = collaboration
  const asked = { runs: runs.api, notes: notes.api, path: paths.credentialsFile }
  const credentials = await credentialsModule(kernel, { ...foundation, ...asked })
  const egress = egressModule(kernel, {
    runtime,
    engineAddresses: [environment.engineSocket ?? '', env['DOCKER_HOST'] ?? ''],
    rates,
    vault,
    shares,
    openCredentials: credentials.api.open,
    ...led,
  })
  const browser = browserModule(kernel, { ...paid, ...paths, ...context, runtime, credentials, egress })
  const replay = replayModule(kernel, { records, runs: runs.api, requireModel: known.requireModel })
  const models = modelsModule(kernel, {
    ...known,
    ...paid,
    standIn: replay.api.standIn,
    holdLease: runs.api.holdLease,
    fetchMedia: egress.api.fetchMedia,
    onShareOf: shares.calls.spend,
  })
  const approvals = approvalsModule(kernel, { runs: runs.api, ...spending.api })
  const asking = { ...paid, approvals: approvals.api }
  const control = controlModule(kernel, { ...asking, denials, refuseAbove, requireModel: known.requireModel })
  const wallet = await walletModule(kernel, { ...asking, egress: egress.api, vault, paths })
  const pauses = pausesModule(kernel, working)
  const webhooks = webhookModule(kernel, { ...working, vault })
  const jobs = await openCronJobs(kernel, { path: paths.cronFile, editor })
  const heartbeats = heartbeatModule(kernel, {
    ...working,
    jobs: jobs.heartbeatJobs,
    sandboxes: runtime,
    outcomes: runs.api.delivery.outcomes,
    tasks: store.table,
    topics: topics.api,
    messages: messages.api,
    views: control.api.views,
  })
  const cron = cronModule(kernel, { ...working, jobs, heartbeats: heartbeats.api, notes: notes.api })
  const channels = channelsModule(kernel, { ...asking, ...foundation, ...control.api, artifacts, models })
  const watch = watchModule(kernel, { path: paths.watchersFile, editor, ...led })
  const folders = [paths.templatesFolder, join(repositoryRoot, 'templates')]
  const filed = { jobs, watch, settingsFile: foundation.settings }
  const templates = templatesModule(kernel, { ...paid, ...filed, blackboard, projects, webhooks, folders })
  const choosing = { ...known, ...credentials.api, ...egress.api, environment }
  const setup = setupModule(kernel, { ...choosing, vault, settingsFile: foundation.settings })
  const introspection = introspectionModule(kernel, { ...paid, ...egress.api, models: models.api, browser })
  const backup = backupModule(kernel, { ...context, runtime, home: paths.home })
  const serving = { now: false }
  const ground = { people, isolation, agents, telemetry, spending, spawning, replay }
  const work = { runs, tasks, approvals, pauses }
  const shared = { ...collaboration, browser }
  const guarded = { skills: skillsModule(kernel), credentials, egress, models, setup, control }
  const triggers = { webhooks, heartbeats, cron, watch, templates, channels }
  const made = { ...ground, ...work, ...shared, ...guarded, ...triggers, introspection, wallet, backup }
  const diagnostics = diagnosticsModule(kernel, {
    ...foundation,
    runtime,
    serving,
    home: { id: home.homeId, folder: paths.home, pid: context.pid },
    ...choosing,
    modules: made,
  })
  const modules = { ...made, diagnostics, dashboard: dashboardModule(kernel, { repositoryRoot, ...led }) }
  return { ...foundation, context, paths, homeId: home.homeId, runtime, serving, modules }
}

export type Composed = Awaited<ReturnType<typeof compose>>
