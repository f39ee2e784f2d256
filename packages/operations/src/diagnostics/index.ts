import type { PolicyStore } from '@flotilla/identity/policy'
import type { Caller, DenialCounts, PermissionStore } from '@flotilla/identity/access'
import type { Agents } from '@flotilla/fleet/agents'
import type { Blackboard } from '@flotilla/collaboration/blackboard'
import { isolationWish } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Pauses } from '@flotilla/work/pauses'
import type { Isolation } from '@flotilla/fleet/isolation'
import type { createJournalKeeper } from '@flotilla/foundation/journal'
import type { Kernel, MeshModule, Metric } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { AgentViews, Spending } from '@flotilla/inference/spending'
import type { DiskSpace } from '@flotilla/foundation/storage'
import type { Tasks } from '@flotilla/work/tasks'
import type { Wallet } from '@flotilla/wallet'
import { judgeReadiness } from './doctor/judge-readiness.ts'
import type { Readiness } from './doctor/judge-readiness.ts'
import { eventRoutes } from './events.routes.ts'
import { createFleetStats } from './fleet-stats.ts'
import { fleetMetrics } from './fleet-metrics.ts'
import { createFleetStatus } from './fleet-status.ts'
import { fleetStatsRoutes, internalRoutes, operatorAgentRoutes } from './operator.routes.ts'
import { healthRoutes, journalRoutes, statusRoutes } from './people.routes.ts'
import { createOwnerNotices } from './notices/owner-notices.ts'
import type { NoticeDeps } from './notices/owner-notices.ts'
import { createReadOutJournal } from './read-out-journal.ts'
import type { InferenceKernel } from '@flotilla/inference/events'
export { followEvents } from './events.routes.ts'
export { browserFindings, captchaFindings } from './doctor/browser-findings.ts'
export { channelFindings } from './doctor/channel-findings.ts'
export { credentialFinding } from './doctor/credential-findings.ts'
export { dataFindings } from './doctor/data-findings.ts'
export { environmentFindings } from './doctor/environment-findings.ts'
export { diskFinding, fileFindings, homeFinding } from './doctor/file-findings.ts'
export { failure, ok, warning } from './doctor/finding.ts'
export type { DoctorFinding } from './doctor/finding.ts'
export { inspectionFindings } from './doctor/inspection-findings.ts'
export { isolationFindings } from './doctor/isolation-findings.ts'
export { lostHomesFinding } from './doctor/lost-homes-finding.ts'
export { proxyFindings } from './doctor/proxy-findings.ts'
export { modelFindings } from './doctor/model-findings.ts'
export { portHolder } from './doctor/port-holder.ts'
export type { PortHolder } from './doctor/port-holder.ts'
export { sharedFindings } from './doctor/shared-findings.ts'
export { sizeFindings } from './doctor/size-findings.ts'

export type JournalKeeper = ReturnType<typeof createJournalKeeper>

/** The contexts from which the status is read. */
interface ReportedContexts {
  readonly fleet: { readonly isolation: Isolation; readonly agents: Pick<Agents, 'registry'> }
  readonly work: {
    readonly runs: Pick<Runs, 'queries'>
    readonly tasks: Pick<Tasks, 'listStaleTasks'>
    readonly approvals: Pick<ApprovalDesk, 'pendingCount'>
    readonly pauses: Pick<Pauses, 'view'>
  }
  readonly inference: {
    readonly spending: Pick<Spending, 'costs' | 'budgets' | 'found' | 'journalSpend'>
    readonly agentViews: AgentViews
  }
  readonly collaboration: { readonly blackboard: Pick<Blackboard, 'crossProject'> }
  readonly wallet: { readonly wallet: Wallet }
  readonly inbound: {
    readonly cron: {
      broken(): string | null
      list(caller: Caller): { readonly jobs: ReturnType<NoticeDeps['jobs']> }
    }
  }
}

interface Needs {
  readonly contexts: ReportedContexts
  /** The metrics of all other modules. */
  readonly metrics: () => readonly Metric[]
  readonly home: { readonly id: string; readonly folder: string; readonly pid: number }
  /** True while the mesh is working; false while it starts. */
  readonly serving: { readonly now: boolean }
  readonly runtime: Pick<SandboxRuntime, 'kind' | 'isolates' | 'dataBound'>
  readonly catalog: NoticeDeps['catalog'] & {
    preset(): { readonly name: string; readonly from: string } | null
  }
  readonly vault: NoticeDeps['vault']
  readonly environment: { readonly proxies: NoticeDeps['proxies'] }
  readonly access: {
    readonly permissions: PermissionStore
    readonly policy: Pick<PolicyStore, 'snapshot'>
    readonly denials: DenialCounts
  }
  readonly settings: SettingsFile
  readonly diskSpace: Pick<DiskSpace, 'trouble'>
  readonly journalKeeper: JournalKeeper
}

/** Wires the module that reports health, status and metrics to people, probes, the operator and local programs. */
export function diagnosticsModule(kernel: InferenceKernel, needs: Needs): MeshModule<null> {
  const { contexts, home } = needs
  const { fleet, work, inference, inbound } = contexts
  const { spending, agentViews: views } = inference
  const startedAt = kernel.clock.now()
  const uptimeSeconds = () => (kernel.clock.now() - startedAt) / 1000
  const readiness = () => readinessOf(needs)
  const counted = {
    views,
    denials: needs.access.denials,
    crossProject: contexts.collaboration.blackboard.crossProject,
    uptimeSeconds,
  }
  const stats = createFleetStats(kernel, {
    ...counted,
    agents: fleet.agents.registry,
    runs: work.runs.queries,
    spentThisMonthUsd: spending.costs.monthUsd,
    listStaleTasks: work.tasks.listStaleTasks,
    pendingApprovals: work.approvals.pendingCount,
  })
  const journal = createReadOutJournal({
    ...kernel,
    homeId: home.id,
    journalKeeper: needs.journalKeeper,
    journalSpend: spending.journalSpend,
  })
  const ownMetrics = () => fleetMetrics(counted)
  const notices = createOwnerNotices(kernel, {
    ...needs,
    permissions: needs.access.permissions,
    registry: fleet.agents.registry,
    proxies: needs.environment.proxies,
    budgets: () => spending.budgets.list({ kind: 'system' }),
    jobs: () => inbound.cron.list({ kind: 'system' }).jobs,
  })
  const status = createFleetStatus(kernel, {
    notices: notices.list,
    home,
    uptimeSeconds,
    readiness,
    runtime: () => runtimeOf(needs, kernel),
    defaultModel: needs.catalog.preset,
    pauses: work.pauses.view,
    walletHalt: contexts.wallet.wallet.halt,
    agents: views.all,
    runs: work.runs.queries.countByState,
    metrics: () => [...ownMetrics(), ...needs.metrics()],
  })
  return {
    api: null,
    routes: {
      public: (surface) => healthRoutes(surface, readiness),
      people: (surface) => {
        statusRoutes(surface, status)
        journalRoutes(surface, journal)
        eventRoutes(surface, kernel)
      },
      operator: (surface) => operatorAgentRoutes(surface, stats),
      operatorOrInternal: (surface) => fleetStatsRoutes(surface, { stats, journal }),
      internal: (surface) => internalRoutes(surface, journal),
    },
    run: notices.run,
  }
}

/** The current readiness. */
function readinessOf({
  contexts: { fleet, inference, inbound },
  access,
  settings,
  diskSpace,
  journalKeeper,
  serving,
}: Needs): Readiness {
  return judgeReadiness({
    permissions: access.permissions.snapshot().broken,
    settings: settings.broken(),
    policy: access.policy.snapshot().broken,
    walls: fleet.isolation.state().broken,
    journal: journalKeeper.broken(),
    disk: diskSpace.trouble(),
    jobs: inbound.cron.broken(),
    money: inference.spending.found.words,
    serving: serving.now,
  })
}

function runtimeOf({ runtime, serving, contexts }: Needs, { settings }: Kernel) {
  const { rungs, atLeast } = contexts.fleet.isolation
  const { wanted, floor } = isolationWish(settings(), '', { start: atLeast, record: 'container' })
  return {
    kind: runtime.kind,
    isolates: runtime.isolates,
    data_bound: serving.now ? runtime.dataBound().kind : ('unknown' as const),
    data_limit_mb: settings().data_limit_mb,
    isolation: { wanted, required: floor, rungs: [...rungs()] },
  }
}
