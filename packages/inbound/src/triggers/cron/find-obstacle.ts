import type { JsonObject } from '@flotilla/protocol/json-value'
import { isTerminal } from '@flotilla/protocol/run'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunRecord } from '@flotilla/work/runs'
import { modeOf } from './cron-job.ts'
import type { CronJob, LiveJob } from './cron-job.ts'
import type { CronRow, CronState } from './cron-table.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'
import { personWhoMade } from './person-left.ts'
import type { Firing, Obstacle } from './record-firing.ts'
import { zoneOffsetMs } from './zone-offset.ts'
import type { IdentityEvents } from '@flotilla/identity/events'

/**
 * Returns why a scheduled firing must be skipped, or null. Checks in order of priority. Throws the
 * Problems of `requireWorking`.
 */
export function findObstacle(firing: Firing, live: LiveJob, dueAt: number): Obstacle | null {
  const { deps, jobs } = firing
  const { job } = live
  const maker = refusalOfMaker(deps.kernel, job)
  if (maker !== null) return { reason: 'maker', detail: maker }
  deps.agents.requireWorking(job.agent)
  return overlapOf(openFirings(firing, job)) ?? unmetCondition(live, dueAt, jobs.table.stateOf(job.id))
}

/** Returns why the job's maker may not start it now, or null: a job never has more permissions than its maker. */
function refusalOfMaker(
  {
    decide,
    identityEvents,
  }: Pick<Kernel, 'decide'> & { readonly identityEvents: Pick<IdentityEvents, 'personOf'> },
  job: CronJob,
): string | null {
  const person = personWhoMade(job)
  if (person !== null && !job.heartbeat) {
    const [now] = identityEvents.personOf.ask(person)
    if (!now) return `${person}, who created the job, was removed`
    const may = decide(
      { kind: 'human', channel: 'cron', person, ...now },
      { do: 'submit-run', to: job.agent },
    )
    return may.allowed ? null : `${person}, who created the job, lacks the permission: ${may.reason}`
  }
  const maker = /^agent:(.+)$/.exec(job.created_by)?.[1]
  // The operator's heartbeat belongs to the mesh, whatever maker the file names.
  if (maker === undefined || isOperatorHeartbeat(job)) return null
  const caller: Caller = { kind: 'agent', agentId: maker, token: 'door', run: null }
  const may = decide(caller, { do: 'manage-cron' })
  if (!may.allowed) return `agent ${maker}, which created the job, lacks the permission: ${may.reason}`
  if (maker === job.agent) return null
  const mayForOther = decide(caller, { do: 'edit-agent-config', agentId: job.agent })
  return mayForOther.allowed
    ? null
    : `agent ${maker}, which created the job, lacks the permission: ${mayForOther.reason}`
}

/** Returns earlier unfinished firings, oldest first. Settles the row of a finished run that was not recorded. */
function openFirings({ deps, jobs, settle }: Firing, job: CronJob): readonly CronRow[] {
  return jobs.table.openOf(job.id).filter((row) => {
    if (row.runId === null) return true
    const run = deps.runs.find(row.runId)
    if (run && isTerminal(run.state)) settle(row, run)
    return run !== null && holdsBack(job, run)
  })
}

/** True if the run blocks the next firing. A heartbeat that only waits for its hand-offs does not. Pure. */
function holdsBack(job: CronJob, { state }: RunRecord): boolean {
  return !isTerminal(state) && !(job.heartbeat && state === 'waiting')
}

function overlapOf([before]: readonly CronRow[]): Obstacle | null {
  if (!before) return null
  const what = before.runId === null ? 'is being fired' : `is running as ${before.runId}`
  return { reason: 'overlap', detail: `the previous firing of the job ${what}` }
}

function unmetCondition({ job, when }: LiveJob, dueAt: number, state: CronState | null): Obstacle | null {
  if (typeof when === 'string')
    return { reason: 'error', detail: `the condition of the job cannot be evaluated: ${when}` }
  if (!when || when(conditionPayload(job, dueAt, state))) return null
  return { reason: 'condition', detail: `the condition was false: ${job.when ?? ''}` }
}

const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/** Returns a `when`'s payload: `now` is the due time in the job's zone, `last` its last run's result. Pure. */
function conditionPayload(job: CronJob, dueAt: number, state: CronState | null): JsonObject {
  const local = new Date(dueAt + zoneOffsetMs(job.timezone, dueAt))
  const weekday = local.getUTCDay()
  return {
    now: {
      iso: new Date(dueAt).toISOString(),
      year: local.getUTCFullYear(),
      month: local.getUTCMonth() + 1,
      day: local.getUTCDate(),
      hour: local.getUTCHours(),
      minute: local.getUTCMinutes(),
      weekday: weekdays[weekday] ?? '',
      weekend: weekday === 0 || weekday === 6,
    },
    job: { id: job.id, agent: job.agent, mode: modeOf(job), runs: state?.fired ?? 0 },
    last: {
      outcome: state?.lastOutcome ?? 'none',
      text: state?.lastText ?? '',
      errors_in_row: state?.failedInRow ?? 0,
    },
  }
}
