import type { CronChange, CronJobView, CronSeen, CronRowView, NewCronJob } from '@flotilla/protocol/cron-api'
import { formatActor } from '@flotilla/protocol/format-actor'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { onceOnly } from '@flotilla/foundation/storage'
import type { Resumable } from '@flotilla/foundation/storage'
import { actionOf, changedBy, requireSeen, newJob } from './change-job.ts'
import { checkJob, lockedHeartbeat } from './check-job.ts'
import type { CronDeps } from './cron-deps.ts'
import { cronJobSchema, modeOf, scheduleKey } from './cron-job.ts'
import type { CronJob, LiveJob } from './cron-job.ts'
import type { CronJobs } from './cron-jobs.ts'
import { explainJob } from './explain-job.ts'
import type { FireByHand } from './fire-by-hand.ts'
import type { FireJob } from './fire-job.ts'
import { guardOther, ownJob, requireJob, unknownJob, visibleJobs } from './job-access.ts'
import { changedMarkSchema, digestOf, madeMarkSchema, markOf } from './job-mark.ts'
import { jobView, rowView } from './job-view.ts'
import { nextDues } from './plan-dues.ts'
import { previewSchedule } from './preview-schedule.ts'
import type { AskedPreview, SchedulePreview } from './preview-schedule.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'
import { publishJobEvent } from './publish-job-event.ts'

const brokenForAgents = 'config/cron.json cannot be read; the owner must correct the file'

/** The number of rows in an explanation. */
const explainedRows = 10

/**
 * What people and agents do with jobs. Each call throws the Problems `denied`, `not-found` (also for a job that the
 * caller may not see), `bad-request` with the field, and `unprocessable` if the file is broken or an agent has 50
 * jobs.
 *
 * An agent needs `can_manage_cron` and manages the jobs that it made for itself. For another agent it also needs the
 * permission to edit that agent's configuration. It cannot change jobs that people made for it.
 */
export interface ManageCron {
  list(caller: Caller, agentId?: string): { readonly jobs: CronJobView[]; readonly broken: string | null }
  /** Returns the due times of a job if it were created now, or the invalid field. */
  preview(caller: Caller, request: AskedPreview): SchedulePreview
  create(caller: Caller, input: NewCronJob & Keyed<CronJobView>, signal: AbortSignal): Promise<CronJobView>
  /**
   * Changes a job. Fields that are not named stay unchanged; the mode cannot change. Throws Problem
   * `edit-overtaken` if the job differs from `seen`.
   */
  update(
    caller: Caller,
    input: {
      readonly id: string
      readonly change: CronChange
      readonly seen?: CronSeen | undefined
    } & Keyed<CronJobView>,
    signal: AbortSignal,
  ): Promise<CronJobView>
  remove(caller: Caller, jobId: string, step?: Resumable<void>): Promise<void>
  /** Fires now, ignoring schedule, condition, `enabled` and earlier runs. Only the routes for people call it. */
  runNow(caller: Caller, jobId: string): Promise<CronRowView>
  /** Returns rows, newest first, with an explanation of the latest ones. */
  history(
    caller: Caller,
    jobId: string,
    limit: number,
  ): { job: CronJobView; rows: CronRowView[]; why: string[]; next: number[] }
}

/** A call that may be repeated: a repeated call finds the job by the data that the first call stored. */
interface Keyed<View> {
  readonly step?: Resumable<View>
}

type SavedAction = 'created' | 'updated' | 'paused' | 'resumed' | 'removed'

interface Saved<R> {
  readonly caller: Caller
  readonly action: SavedAction
  readonly job: CronJob
  readonly step: Resumable<R>
}

export function createManageCron({
  deps,
  jobs,
  fire,
  fireByHand,
}: {
  readonly deps: CronDeps
  readonly jobs: CronJobs
  readonly fire: Pick<FireJob, 'due'>
  readonly fireByHand: FireByHand
}): ManageCron {
  const { kernel, agents } = deps
  const { guard, clock, journal, events, database } = kernel
  const { table, schedule, file } = jobs
  const checking = { agents, readCondition: jobs.readCondition }

  const view = (live: LiveJob): CronJobView => jobView(live, table.stateOf(live.job.id))

  /** Records a change of the file in one transaction and returns its result. */
  function recordSaved<R>({ caller, action, job, step }: Saved<R>, result: () => R): R {
    return step.settle(() => {
      schedule.adopt(file.jobs())
      journal.append({
        actor: actorOf(caller),
        action: `cron.${action}`,
        subject: job.id,
        detail: { agent: job.agent, schedule: job.schedule, mode: modeOf(job) },
      })
      publishJobEvent(events, job, { action, detail: `by ${formatActor(actorOf(caller))}` })
      return result()
    })
  }

  return {
    list(caller, agentId) {
      const all = [...schedule.all()].filter(({ job }) => agentId === undefined || job.agent === agentId)
      const jobs = visibleJobs(kernel, caller, all).map(view)
      const broken = file.broken()
      // Agents do not get the reason, because it quotes the file, which contains jobs of others.
      return { jobs, broken: broken === null || caller.kind !== 'agent' ? broken : brokenForAgents }
    },
    preview(caller, request) {
      guard(caller, { do: 'view-fleet' })
      return previewSchedule(request, { now: clock.now(), readCondition: jobs.readCondition })
    },
    async create(caller, { step = onceOnly(database), ...input }, signal) {
      guard(caller, { do: 'manage-cron' })
      guardOther(kernel, caller, input.agent)
      agents.requireWorking(input.agent)
      const begun = madeMarkSchema.safeParse(step.begun)
      const before = begun.success ? schedule.find(begun.data.id) : null
      const seenNow = (id: string) => () => view(requireJob(schedule, id))
      if (before)
        return recordSaved({ caller, action: 'created', job: before.job, step }, seenNow(before.job.id))
      const fresh = newJob(kernel, caller, input)
      const made = await checkJob(checking, {
        job: begun.success ? { ...fresh, id: begun.data.id } : fresh,
        before: null,
        signal,
      })
      // The state is stored before the file, so that due times from now on get rows even after a crash.
      table.putState({
        jobId: made.id,
        agentId: made.agent,
        scheduleKey: scheduleKey(made),
        accountedUntil: clock.now(),
      })
      step.begin({ id: made.id })
      try {
        await file.edit((jobs) => {
          // The agent may have been archived while its tools were requested.
          agents.requireWorking(made.agent)
          return [...jobs, made]
        })
        return recordSaved({ caller, action: 'created', job: made, step }, seenNow(made.id))
      } catch (error) {
        if (!schedule.find(made.id)) table.forget(made.id)
        throw error
      }
    },
    async update(caller, { id: jobId, change, seen, step = onceOnly(database) }, signal) {
      guard(caller, { do: 'manage-cron' })
      const before = ownJob({ kernel, schedule }, caller, jobId)
      const seenNow = () => view(requireJob(schedule, jobId))
      const begun = changedMarkSchema.safeParse(step.begun)
      if (begun.success && digestOf(before.job) === begun.data.after)
        return recordSaved({ caller, action: actionOf(change), job: before.job, step }, seenNow)
      if (begun.success && digestOf(before.job) !== begun.data.before)
        throw new Problem('outcome-unknown', {
          detail: 'the job was changed by another request; read it again',
        })
      requireSeen(before.job, seen ?? {})
      const updated = await checkJob(checking, {
        job: changedBy(caller, before.job, change),
        before: before.job,
        signal,
      })
      if (ownJob({ kernel, schedule }, caller, jobId) !== before)
        throw new Problem('conflict', { detail: 'the job was changed by another request; read it again' })
      fire.due(before)
      step.begin({ before: digestOf(before.job), after: digestOf(updated) })
      await file.edit((jobs) => {
        if (!jobs.some(({ id }) => id === jobId)) throw unknownJob(jobId)
        return jobs.map((job) => (job.id === jobId ? changedBy(caller, job, change) : job))
      })
      return recordSaved({ caller, action: actionOf(change), job: updated, step }, seenNow)
    },
    async remove(caller, jobId, step = onceOnly(database)) {
      guard(caller, { do: 'manage-cron' })
      const begun = cronJobSchema.safeParse(step.begun)
      if (begun.success && !schedule.find(jobId)) {
        recordSaved({ caller, action: 'removed', job: begun.data, step }, () => {})
        return
      }
      const { job } = ownJob({ kernel, schedule }, caller, jobId)
      if (isOperatorHeartbeat(job)) throw lockedHeartbeat('heartbeat', 'it cannot be removed')
      step.begin(markOf(job))
      await file.edit((jobs) => jobs.filter(({ id }) => id !== jobId))
      recordSaved({ caller, action: 'removed', job, step }, () => {})
    },
    async runNow(caller, jobId) {
      guard(caller, { do: 'manage-cron' })
      const live = ownJob({ kernel, schedule }, caller, jobId)
      const row = await fireByHand(live, caller)
      journal.append({
        actor: actorOf(caller),
        action: 'cron.run-by-hand',
        subject: jobId,
        detail: { agent: live.job.agent, run: row.runId ?? '' },
      })
      return rowView(row)
    },
    history(caller, jobId, limit) {
      const [live] = visibleJobs(kernel, caller, [requireJob(schedule, jobId)])
      if (!live) throw unknownJob(jobId)
      const rows = table.newest(jobId, limit)
      const state = table.stateOf(jobId)
      return {
        job: jobView(live, state),
        rows: rows.map(rowView),
        next: nextDues(live, clock.now()),
        why: explainJob(live, { state, rows: rows.slice(0, explainedRows), now: clock.now() }),
      }
    },
  }
}
