import type { Credentials, Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Agents } from '@flotilla/fleet/agents'
import type { Isolation } from '@flotilla/fleet/isolation'
import type { Resources } from '@flotilla/fleet/resources'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { Environment, SettingsFile } from '@flotilla/foundation/config'
import type { DiskSpace } from '@flotilla/foundation/storage'
import type { DenialCounts, PermissionStore, RefuseAboveCeiling } from '@flotilla/identity/access'
import type { CheckEffect, PolicyStore, PolicyUse } from '@flotilla/identity/policy'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import type { Blackboard, BlackboardWatches } from '@flotilla/collaboration/blackboard'
import type { Projects } from '@flotilla/collaboration/projects'
import type { CronApi, CronJobs } from '@flotilla/inbound/triggers/cron'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { Webhooks } from '@flotilla/inbound/triggers/webhook'
import type { Browsers } from '@flotilla/browsing'
import type { KnownModels, Models } from '@flotilla/inference/models'
import type { AgentViews, Spending } from '@flotilla/inference/spending'
import type { Wallet } from '@flotilla/wallet'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Pauses } from '@flotilla/work/pauses'
import type { Runs } from '@flotilla/work/runs'
import type { Tasks } from '@flotilla/work/tasks'
import { backupModule } from './backup/index.ts'
import { controlModule } from './control/index.ts'
import { dashboardModule } from './dashboard/index.ts'
import { diagnosticsModule } from './diagnostics/index.ts'
import type { JournalKeeper } from './diagnostics/index.ts'
import { requestsModule } from './requests/index.ts'
import { introspectionModule } from './introspection/index.ts'
import { setupModule } from './setup/index.ts'
import { telemetryModule } from './telemetry/index.ts'
import { templatesModule } from './templates/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { WorkEvents } from '@flotilla/work/events'
import type { InferenceEvents } from '@flotilla/inference/events'

export interface OperationsNeeds {
  /** The contexts below, of which each module uses a part. */
  readonly contexts: OperatedContexts
  /** The modules of the contexts below, which contribute metrics. */
  readonly measured: readonly (readonly [name: string, module: MeshModule])[]
  readonly foundation: {
    readonly settingsFile: SettingsFile
    readonly diskSpace: Pick<DiskSpace, 'trouble'>
    readonly journalKeeper: JournalKeeper
    readonly shares: { readonly calls: LoopShare }
  }
  readonly access: {
    readonly permissions: PermissionStore
    readonly policy: Pick<PolicyStore, 'snapshot' | 'edit' | 'tryEdit' | 'tryText'>
    readonly denials: DenialCounts
    readonly refuseAbove: RefuseAboveCeiling
  }
  readonly secrets: { readonly vault: Vault }
  readonly models: { readonly known: KnownModels }
  readonly runtime: Pick<SandboxRuntime, 'kind' | 'isolates' | 'dataBound' | 'readData'>
  readonly process: OperatedProcess
  readonly home: { readonly id: string; readonly folder: string }
  /** The folders of templates, the owner's first. */
  readonly templateFolders: readonly string[]
  /** True while the mesh is working; false while it starts. */
  readonly serving: { readonly now: boolean }
}

export interface OperatedContexts {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: {
    readonly events: FleetEvents
    readonly agents: Agents
    readonly isolation: Isolation
    readonly resources: Resources
  }
  readonly work: {
    readonly events: WorkEvents
    readonly runs: Runs
    readonly tasks: Pick<Tasks, 'listStaleTasks'>
    readonly approvals: ApprovalDesk
    readonly checkEffect: CheckEffect
    readonly policyUse: Pick<PolicyUse, 'hits' | 'stops'>
    readonly pauses: Pick<Pauses, 'view'>
  }
  readonly egress: {
    readonly credentials: Pick<Credentials, 'fingerprint' | 'hostsOf'>
    readonly outbound: Pick<Egress, 'fetchAt' | 'requireSearch'>
  }
  readonly inference: {
    readonly events: InferenceEvents
    readonly models: Models
    readonly spending: Spending
    readonly agentViews: AgentViews
  }
  readonly collaboration: {
    readonly blackboard: Pick<Blackboard, 'crossProject'> & { readonly watches: BlackboardWatches }
    readonly projects: Pick<Projects, 'textsOf' | 'give'>
  }
  readonly browsing: { readonly browsers: Browsers }
  readonly wallet: { readonly wallet: Wallet }
  readonly inbound: {
    readonly cron: CronApi
    readonly jobs: CronJobs
    readonly webhooks: Pick<Webhooks, 'all' | 'prepare'>
    readonly fileWatches: FileWatches
  }
}

/** The process of this mesh. */
interface OperatedProcess {
  readonly pid: number
  /** The first words of a command line that starts this program. */
  readonly program: readonly [string, ...string[]]
  readonly environment: Environment
  readonly env: Readonly<Record<string, string | undefined>>
  readonly repositoryRoot: string
}

/** Creates the modules that the owner uses: control, templates, setup, backup, diagnostics, pages. */
export function operationsModules(kernel: Kernel, needs: OperationsNeeds) {
  const { contexts, foundation, access, runtime, home } = needs
  const { work, inference, collaboration, inbound } = contexts
  const seen = {
    ...kernel,
    identityEvents: contexts.identity.events,
    fleetEvents: contexts.fleet.events,
    workEvents: work.events,
    inferenceEvents: inference.events,
  }
  const { agents } = contexts.fleet
  const { known } = needs.models
  const { environment, env, program, repositoryRoot, pid } = needs.process
  const { permissions } = access
  const { vault } = needs.secrets
  const { runs } = work
  const { spending } = inference
  const { settingsFile, diskSpace, journalKeeper } = foundation
  const telemetry = telemetryModule(seen, { runs, otlp: environment.otlp, proxies: environment.proxies })
  const control = controlModule(seen, {
    ...access,
    approvals: work.approvals,
    checkEffect: work.checkEffect,
    loop: foundation.shares.calls,
    policyUse: work.policyUse,
    runs,
    agents,
    credentials: contexts.egress.credentials,
    requireModel: known.requireModel,
    spending,
    views: inference.agentViews,
  })
  const templates = templatesModule(seen, {
    agents,
    permissions,
    spending,
    webhooks: inbound.webhooks,
    jobs: inbound.jobs,
    blackboard: collaboration.blackboard,
    fileWatches: inbound.fileWatches,
    projects: collaboration.projects,
    settingsFile,
    folders: needs.templateFolders,
  })
  const setup = setupModule(seen, {
    vault,
    settingsFile,
    catalog: known.catalog,
    tryProvider: known.tryProvider,
    environment,
    fingerprint: contexts.egress.credentials.fingerprint,
    fetchAt: contexts.egress.outbound.fetchAt,
  })
  const introspection = introspectionModule(seen, {
    permissions,
    agents,
    runs,
    models: inference.models,
    spending,
    requireSearch: contexts.egress.outbound.requireSearch,
    browsers: contexts.browsing.browsers,
  })
  const requests = requestsModule(seen, {
    agents,
    resources: contexts.fleet.resources,
    settingsFile,
    approvals: work.approvals,
    runs,
    useOf: introspection.api.peakWords,
  })
  const backup = backupModule(seen, { runtime, home: home.folder, program, env })
  const diagnostics = diagnosticsModule(seen, {
    contexts,
    metrics: () =>
      [...needs.measured.map(([, module]) => module), telemetry].flatMap(({ metrics }) => metrics?.() ?? []),
    home: { id: home.id, folder: home.folder, pid },
    serving: needs.serving,
    runtime,
    catalog: known.catalog,
    vault,
    environment,
    access,
    settings: settingsFile,
    diskSpace,
    journalKeeper,
  })
  const dashboard = dashboardModule(seen, { repositoryRoot, runs })
  return {
    modules: { control, templates, setup, introspection, requests, backup, diagnostics, dashboard },
    /** The modules that observe the work of all others, until the last of these has closed. */
    observers: { telemetry },
    control: control.api,
  }
}
