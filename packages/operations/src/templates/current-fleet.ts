import type { WatchDelivery } from '@flotilla/protocol/blackboard-limits'
import type { IsolationMode, IsolationRung } from '@flotilla/protocol/isolation'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { PermissionStore } from '@flotilla/identity/access'
import { workerDefaultRecord } from '@flotilla/identity/access'
import { agentSettingsOf } from '@flotilla/foundation/config'
import type { AgentSettings, SettingsFile } from '@flotilla/foundation/config'
import type { AgentRecord, AgentRegistry } from '@flotilla/fleet/agents'
import type { BlackboardWatches } from '@flotilla/collaboration/blackboard'
import type { ProjectTexts, Projects } from '@flotilla/collaboration/projects'
import type { Spending } from '@flotilla/inference/spending'
import type { CronJob, CronJobs } from '@flotilla/inbound/triggers/cron'
import type { FileWatches, WatcherEntry } from '@flotilla/inbound/triggers/watch'
import type { Hook, Webhooks } from '@flotilla/inbound/triggers/webhook'

/** The sources of the current fleet, for plans and exports. */
export interface CurrentFleetDeps {
  readonly agents: Pick<
    AgentRegistry,
    'find' | 'require' | 'list' | 'isArchived' | 'mcpServers' | 'seedFiles'
  >
  readonly permissions: Pick<PermissionStore, 'snapshot'>
  readonly spending: { readonly budgets: Pick<Spending['budgets'], 'projectLimits'> }
  readonly webhooks: Pick<Webhooks, 'all'>
  readonly jobs: { readonly file: Pick<CronJobs['file'], 'jobs'> }
  readonly watches: Pick<BlackboardWatches, 'of'>
  readonly projects: Pick<Projects, 'textsOf'>
  readonly fileWatches: Pick<FileWatches, 'entries' | 'broken'>
  readonly settingsFile: Pick<SettingsFile, 'current' | 'broken'>
}

export interface CurrentAgent {
  readonly record: AgentRecord
  readonly permissions: PermissionRecord
  readonly heartbeat: CronJob | null
  readonly files: Readonly<Record<string, string>>
  readonly mcpServers: McpServers
}

/** A snapshot of the fleet. */
export interface CurrentFleet {
  agent(agentId: string): CurrentAgent | null
  /** The owner's settings for an agent, also before it exists. */
  settingsOf(agentId: string): AgentSettings
  /** The /data limit in MB, from the agent's own settings or else the fleet's. */
  dataLimitMb(agentId: string): number
  /** The isolation level, from the agent's own settings or else the fleet's. */
  isolation(agentId: string): { readonly rung: IsolationRung; readonly mode: IsolationMode }
  projectLimits(project: string): { readonly dailyUsd: number | null; readonly monthlyUsd: number | null }
  /** Returns the texts of a project; null if the project does not exist. */
  projectTexts(project: string): ProjectTexts | null
  hooksOf(agentId: string): readonly Hook[]
  /** Returns the jobs of an agent, without heartbeats. */
  jobsOf(agentId: string): readonly CronJob[]
  job(jobId: string): CronJob | null
  /** Returns the kind of notification for each watched pattern. */
  watchesOf(agentId: string): ReadonlyMap<string, WatchDelivery>
  /** All file watchers, in the order of their file. */
  watchers(): readonly WatcherEntry[]
}

export function currentFleet(deps: CurrentFleetDeps): CurrentFleet {
  const jobs = deps.jobs.file.jobs()
  const hooks = deps.webhooks.all()
  const records = deps.permissions.snapshot()
  const settings = deps.settingsFile.current()
  return {
    agent: (agentId) => {
      const record = deps.agents.find(agentId)
      if (!record) return null
      return {
        record,
        permissions: records.recordOf(agentId) ?? workerDefaultRecord,
        heartbeat: jobs.find((job) => job.heartbeat && job.agent === agentId) ?? null,
        files: deps.agents.seedFiles.of(agentId),
        mcpServers: deps.agents.mcpServers.of(agentId),
      }
    },
    settingsOf: (agentId) => agentSettingsOf(settings, agentId),
    dataLimitMb: (agentId) => agentSettingsOf(settings, agentId).data_limit_mb ?? settings.data_limit_mb,
    isolation: (agentId) => {
      const own = agentSettingsOf(settings, agentId)
      return {
        rung: own.isolation ?? settings.isolation,
        mode: own.isolation_mode ?? settings.isolation_mode,
      }
    },
    projectLimits: deps.spending.budgets.projectLimits,
    projectTexts: deps.projects.textsOf,
    hooksOf: (agentId) => hooks.filter((hook) => hook.agentId === agentId),
    jobsOf: (agentId) => jobs.filter((job) => !job.heartbeat && job.agent === agentId),
    watchesOf: (agentId) => new Map(deps.watches.of(agentId).map(({ pattern, tell }) => [pattern, tell])),
    watchers: deps.fileWatches.entries,
    job: (jobId) => jobs.find(({ id }) => id === jobId) ?? null,
  }
}

/** The fields of an existing job that a template can set. Pure. */
export function scheduleFields(job: CronJob): Readonly<Record<string, string | boolean | JsonObject>> {
  const { schedule, timezone, enabled, suppress_empty, message, tool_name, tool_params, when } = job
  const given = { schedule, timezone, enabled, suppress_empty, message, tool_name, tool_params, when }
  return Object.fromEntries(
    Object.entries(given).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]])),
  )
}
