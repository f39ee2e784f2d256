import { join } from 'node:path'
import { agentsModule } from '../agents/index.ts'
import { artifactsModule } from '../collaboration/artifacts/index.ts'
import { blackboardModule } from '../collaboration/blackboard/index.ts'
import { notesModule } from '../collaboration/notes/index.ts'
import { topicsModule } from '../collaboration/topics/index.ts'
import { controlModule } from '../control/index.ts'
import { pausesModule } from '../control/pauses/index.ts'
import { credentialsModule } from '../credentials/index.ts'
import { diagnosticsModule } from '../diagnostics/index.ts'
import { egressModule } from '../egress/index.ts'
import { introspectionModule } from '../introspection/index.ts'
import { isolationModule } from '../isolation/index.ts'
import { modelCatalog, modelsModule } from '../models/index.ts'
import { runsModule } from '../runs/index.ts'
import { skillsModule } from '../skills/index.ts'
import { spendingModule } from '../spending/index.ts'
import { createTaskStore, tasksModule } from '../tasks/index.ts'
import { cronModule, openCronJobs } from '../triggers/cron/index.ts'
import { heartbeatModule } from '../triggers/heartbeat/index.ts'
import { watchModule } from '../triggers/watch/index.ts'
import { webhookModule } from '../triggers/webhook/index.ts'
import { chooseRuntime } from './choose-runtime.ts'
import { createKernel } from './create-kernel.ts'
import { loopLimits } from './loop-limits.ts'
import type { MeshSettings } from './mesh-settings.ts'

/**
 * The modules of the mesh, each made of the kernel and of those above it. Nothing is decided here, and nothing starts: see
 * `lifecycle.ts`.
 */
export async function compose({ context, home, paths, log }: MeshSettings) {
  const { environment, env, repositoryRoot } = context
  const foundation = await createKernel({ env, paths, log, agentPort: environment.agentPort })
  const { kernel, vault, meshSecret, editor, permissions, denials, rates, shares, refuseAbove } = foundation
  const runtime = chooseRuntime({ context, homeId: home.homeId, paths, log })
  const known = modelCatalog(kernel, {
    environment,
    vault,
    envFile: paths.envFile,
    // The owner's cassettes first, then those that ship.
    cassetteFolders: [paths.cassettesFolder, join(repositoryRoot, 'cassettes')],
    refuseAbove,
  })
  const isolation = isolationModule(kernel, { runtime })
  const agents = agentsModule(kernel, {
    runtime,
    isolation: isolation.api,
    permissions,
    models: known,
    replies: { held: shares.held.replies, loop: shares.replies },
    loopLimits: loopLimits(environment, kernel.settings()),
    briefsFolder: paths.briefsFolder,
    templateFolders: [paths.templatesFolder, join(repositoryRoot, 'templates')],
    secret: meshSecret.reveal(),
  })
  const store = createTaskStore(kernel)
  const runs = runsModule(kernel, { agents: agents.api, tasks: store.ofRuns, diskRoom: foundation.diskRoom })
  const tasks = tasksModule(kernel, { store, runs: runs.api })
  const spending = spendingModule(kernel, { agents: agents.api, runs: runs.api, refuseAbove })
  const blackboard = blackboardModule(kernel, { agents: agents.api })
  const artifacts = artifactsModule(kernel, { folder: paths.artifactsFolder })
  const notes = notesModule(kernel)
  const topics = topicsModule(kernel, { agents: agents.api })
  const skills = skillsModule(kernel)
  const credentials = await credentialsModule(kernel, {
    vault,
    meshSecret,
    editor,
    path: paths.credentialsFile,
    rates,
    runs: runs.api,
    notes: notes.api,
  })
  const egress = egressModule(kernel, {
    runtime,
    engineAddresses: [environment.engineSocket ?? '', env['DOCKER_HOST'] ?? ''],
    rates,
    vault,
    openCredentials: credentials.api.open,
    agents: { verifyToken: agents.api.verifyToken, mcpServersOf: agents.api.mcpServers.of },
    runs: { liveRunOf: runs.api.live.liveRunOf, holdLease: runs.api.holdLease },
  })
  const models = modelsModule(kernel, {
    ...known,
    agents: agents.api,
    spending: spending.api,
    holdLease: runs.api.holdLease,
    fetchMedia: egress.api.fetchMedia,
    onShareOf: shares.calls.spend,
  })
  const control = controlModule(kernel, {
    agents: agents.api,
    runs: runs.api,
    spending: spending.api,
    permissions,
    denials,
    refuseAbove,
    requireModel: known.requireModel,
  })
  const pauses = pausesModule(kernel, { runs: runs.api, agents: agents.api })
  const webhooks = webhookModule(kernel, { vault, runs: runs.api, agents: agents.api })
  const jobs = await openCronJobs(kernel, { path: paths.cronFile, editor })
  const heartbeats = heartbeatModule(kernel, {
    jobs: jobs.heartbeatJobs,
    sandboxes: runtime,
    agents: agents.api,
    runs: runs.api,
    outcomes: runs.api.outcomes,
    tasks: store.table,
    topics: topics.api,
  })
  const working = { agents: agents.api, runs: runs.api }
  const cron = cronModule(kernel, { ...working, jobs, heartbeats: heartbeats.api, notes: notes.api })
  const watch = watchModule(kernel, { path: paths.watchersFile, runs: runs.api })
  const introspection = introspectionModule(kernel, {
    permissions,
    runs: runs.api,
    models: models.api,
    spending: spending.api,
    egress: egress.api,
  })
  const serving = { now: false }
  const fleet = { isolation, agents, runs, tasks, spending }
  const shared = { blackboard, artifacts, notes, topics, skills, credentials }
  const triggers = { webhooks, heartbeats, cron, watch }
  const made = { ...fleet, ...shared, egress, models, control, pauses, ...triggers, introspection }
  const diagnostics = diagnosticsModule(kernel, {
    ...foundation,
    runtime,
    serving,
    home: { id: home.homeId, folder: paths.home, pid: context.pid },
    catalog: known.catalog,
    modules: made,
  })
  return {
    ...foundation,
    context,
    paths,
    homeId: home.homeId,
    runtime,
    serving,
    modules: { ...made, diagnostics },
  }
}

export type Composed = Awaited<ReturnType<typeof compose>>
