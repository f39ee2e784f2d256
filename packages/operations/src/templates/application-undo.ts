import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { Caller } from '@flotilla/identity/access'
import { actorOf, workerDefaultRecord } from '@flotilla/identity/access'
import { agentSettingsSchema } from '@flotilla/foundation/config'
import type { CronJob } from '@flotilla/inbound/triggers/cron'
import type { WatchersEdit } from '@flotilla/inbound/triggers/watch'
import type { ApplicationUndo } from './application-table.ts'
import type { ApplyTemplateDeps } from './apply-context.ts'
import type { Planned } from './plan-template.ts'
import { currentFleet } from './current-fleet.ts'
import { plain } from './undo-application.ts'

/** Returns what an application writes to files, with the current content. For writing and for restoring. */
export function undoOf(
  deps: ApplyTemplateDeps,
  caller: Caller,
  { planned, watchers }: { readonly planned: Planned; readonly watchers: WatchersEdit | null },
): ApplicationUndo {
  return {
    permissions: permissionsUndo(deps, planned),
    jobs: jobsUndo(deps, caller, planned),
    settings: settingsUndo(deps, planned),
    watchers,
  }
}

function permissionsUndo(
  { permissions, agents }: ApplyTemplateDeps,
  { permissions: planned }: Planned,
): ApplicationUndo['permissions'] {
  const records = permissions.snapshot()
  return Object.fromEntries(
    [...planned].map(([agentId, fields]) => {
      const before = records.recordOf(agentId) ?? null
      // A permission record of a missing agent is left over from a deletion and grants nothing.
      const base = agents.find(agentId) ? (before ?? workerDefaultRecord) : workerDefaultRecord
      return [agentId, { before, after: permissionRecordSchema.parse({ ...base, ...fields }) }]
    }),
  )
}

function jobsUndo(
  { kernel, jobs }: ApplyTemplateDeps,
  caller: Caller,
  { heartbeats, jobs: wishes }: Planned,
): ApplicationUndo['jobs'] {
  const madeBy = { created_by: actorOf(caller), created_at: kernel.clock.now() }
  const all = jobs.file.jobs()
  const written = [
    ...wishes.map((wish): CronJob => ({
      ...wish,
      ...(keptOf(all.find((job) => job.id === wish.id)) ?? madeBy),
    })),
    ...[...heartbeats].map(([agentId, schedule]) => {
      const known = all.find((job) => job.heartbeat && job.agent === agentId)
      return known
        ? { ...known, schedule: schedule ?? known.schedule, enabled: schedule !== null }
        : heartbeatJob(kernel, agentId, schedule)
    }),
  ]
  return Object.fromEntries(
    written.map((after) => {
      const before = all.find((job) => job.id === after.id) ?? null
      return [after.id, { before: before && plain(before), after: plain(after) }]
    }),
  )
}

/** Returns the job of an agent's heartbeat; a null schedule disables the heartbeat. */
function heartbeatJob(
  { newId, clock }: ApplyTemplateDeps['kernel'],
  agentId: string,
  schedule: string | null,
): CronJob {
  return {
    id: newId('cron'),
    agent: agentId,
    schedule: schedule ?? defaultHeartbeatSchedule,
    timezone: 'UTC',
    enabled: schedule !== null,
    suppress_empty: true,
    heartbeat: true,
    created_by: 'system',
    created_at: clock.now(),
  }
}

function settingsUndo(deps: ApplyTemplateDeps, { settings }: Planned): ApplicationUndo['settings'] {
  return Object.fromEntries(
    [...settings].map(([agentId, after]) => {
      const now = Object.entries(currentFleet(deps).settingsOf(agentId))
      const before = agentSettingsSchema.parse(Object.fromEntries(now.filter(([name]) => name in after)))
      return [agentId, { before, after }]
    }),
  )
}

/** Returns the creator and the creation time of an existing job; null without a job. */
function keptOf(job: CronJob | undefined): Pick<CronJob, 'created_by' | 'created_at'> | null {
  return job ? { created_by: job.created_by, created_at: job.created_at } : null
}
