import type { Artifacts } from '@flotilla/collaboration/artifacts'
import type { Messages } from '@flotilla/collaboration/messages'
import type { Notes } from '@flotilla/collaboration/notes'
import type { Topics } from '@flotilla/collaboration/topics'
import type { Vault } from '@flotilla/egress/credentials'
import type { Agents } from '@flotilla/fleet/agents'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { FileEditor, SettingsFile } from '@flotilla/foundation/config'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { Kernel } from '@flotilla/identity/kernel'
import type { People } from '@flotilla/identity/people'
import type { Models } from '@flotilla/inference/models'
import type { AgentViews, Spending } from '@flotilla/inference/spending'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Runs } from '@flotilla/work/runs'
import type { Tasks } from '@flotilla/work/tasks'
import { channelsModule } from './channels/index.ts'
import { cronModule, openCronJobs } from './triggers/cron/index.ts'
import { heartbeatModule } from './triggers/heartbeat/index.ts'
import { watchModule } from './triggers/watch/index.ts'
import { webhookModule } from './triggers/webhook/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { WorkEvents } from '@flotilla/work/events'
import type { CollaborationEvents } from '@flotilla/collaboration/events'

export interface InboundNeeds {
  readonly identity: { readonly events: IdentityEvents; readonly people: People }
  readonly fleet: {
    readonly events: FleetEvents
    readonly agents: Pick<Agents, 'registry' | 'connection' | 'files'>
  }
  readonly work: {
    readonly events: WorkEvents
    readonly runs: Runs
    readonly tasks: Pick<Tasks, 'openOf' | 'openCount'>
    readonly approvals: ApprovalDesk
  }
  readonly inference: {
    readonly models: Pick<Models, 'transcribe'>
    readonly spending: Pick<Spending, 'report'>
    readonly agentViews: AgentViews
  }
  readonly collaboration: {
    readonly events: CollaborationEvents
    readonly artifacts: Pick<Artifacts, 'read'>
    readonly messages: Pick<Messages, 'keptFor' | 'deliverKept'>
    readonly notes: Pick<Notes, 'notifyOwner'>
    readonly topics: Pick<Topics, 'unreadSignals'>
  }
  readonly secrets: { readonly vault: Vault }
  readonly runtime: Pick<SandboxRuntime, 'measureData'>
  readonly foundation: { readonly settingsFile: Pick<SettingsFile, 'edit'>; readonly editor: FileEditor }
  /** The company proxies that the environment of the owner sets. */
  readonly environment: { readonly proxies: OutboundProxies }
  /** The owner's files of jobs and watchers. */
  readonly files: { readonly cronFile: string; readonly watchersFile: string }
}

/** Creates the modules that start runs for events from outside: triggers and chat platforms. */
export async function inboundModules(kernel: Kernel, needs: InboundNeeds) {
  const { collaboration, inference, files } = needs
  const seen = {
    ...kernel,
    identityEvents: needs.identity.events,
    fleetEvents: needs.fleet.events,
    workEvents: needs.work.events,
    collaborationEvents: collaboration.events,
  }
  const { agents } = needs.fleet
  const { runs, tasks, approvals } = needs.work
  const { vault } = needs.secrets
  const { editor, settingsFile } = needs.foundation
  const { notes, topics, messages } = collaboration
  const views = inference.agentViews
  const webhooks = webhookModule(seen, { vault, runs, agents })
  const jobs = await openCronJobs(seen, { path: files.cronFile, editor })
  const heartbeats = heartbeatModule(seen, {
    jobs: jobs.heartbeatJobs,
    agents,
    runs,
    outcomes: runs.delivery.outcomes,
    tasks,
    topics,
    messages,
    views,
    sandboxes: needs.runtime,
  })
  const cron = cronModule(seen, { jobs, heartbeats: heartbeats.api, runs, agents, notes })
  const watch = watchModule(seen, { path: files.watchersFile, editor, agents, runs })
  const channels = channelsModule(seen, {
    people: needs.identity.people,
    runs,
    views,
    approvals,
    spending: inference.spending,
    agents,
    artifacts: collaboration.artifacts,
    models: inference.models,
    vault,
    settings: settingsFile,
    environment: needs.environment,
  })
  return {
    modules: { webhooks, heartbeats, cron, watch, channels },
    webhooks: webhooks.api,
    heartbeats: heartbeats.api,
    cron: cron.api,
    jobs,
    fileWatches: watch.api,
  }
}
