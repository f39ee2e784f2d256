import { isDeepStrictEqual } from 'node:util'
import { tellOfJob } from './tell-of-job.ts'
import type { CronChange, CronJobView, CronRowView, NewCronJob } from '@flotilla/protocol/cron-api'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../../access/caller.ts'
import type { Caller } from '../../access/caller.ts'
import { onceOnly } from '../../storage/resumable.ts'
import type { Resumable } from '../../storage/resumable.ts'
import { badField, checkToolCall } from './check-tool.ts'
import type { CronFile } from './cron-file.ts'
import { cronJobSchema, faultsOf, modeOf, scheduleKey } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import type { CronTable } from './cron-table.ts'
import type { CronWorld } from './cron-world.ts'
import { explainJob } from './explain-job.ts'
import type { FireJob } from './fire-job.ts'
import type { JobBoard, LiveJob } from './job-board.ts'
import { jobView, rowView } from './job-view.ts'
import { isOperatorHeartbeat, lockFault } from './operator-heartbeat.ts'
import { changedMarkSchema, digestOf, madeMarkSchema, markOf } from './job-mark.ts'

const brokenForAgents = 'config/cron.json cannot be read; the owner has to mend it'

/** Rows that an explanation looks at. */
const explainedRows = 10

/**
 * What people and agents do with jobs. Problems of each: `denied`, `not-found` (also for a job that the caller may not
 * know of), `bad-request` with the field, `unprocessable` where the file is broken or an agent has its 50 jobs.
 *
 * An agent needs `can_manage_cron` and sees to the jobs that it made for itself. For another agent it needs to be
 * allowed to edit that agent's configuration as well; the jobs that people made for it are not its own to change.
 */
export interface ManageCron {
  list(caller: Caller, agentId?: string): { readonly jobs: CronJobView[]; readonly broken: string | null }
  create(caller: Caller, input: NewCronJob & Keyed<CronJobView>, signal: AbortSignal): Promise<CronJobView>
  /** What is not named stays as it is, the fields that choose the mode above all. */
  update(
    caller: Caller,
    input: { readonly id: string; readonly change: CronChange } & Keyed<CronJobView>,
    signal: AbortSignal,
  ): Promise<CronJobView>
  remove(caller: Caller, jobId: string, step?: Resumable<void>): Promise<void>
  /** Fires now, whatever schedule, condition, `enabled` and an earlier run say. For people and this machine. */
  runNow(caller: Caller, jobId: string): Promise<CronRowView>
  /** Newest first, and the last of it in words. */
  history(
    caller: Caller,
    jobId: string,
    limit: number,
  ): { job: CronJobView; rows: CronRowView[]; why: string[] }
}

/** For a call that may come again: a job is in a file, and is found again by what the call wrote down of it. */
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

interface Deps {
  readonly world: CronWorld
  readonly table: CronTable
  readonly board: JobBoard
  readonly file: CronFile
  readonly fire: FireJob
}

export function createManageCron(deps: Deps): ManageCron {
  const { world, table, board, file, fire } = deps
  const { guard, clock, journal, events, database } = world

  const view = (live: LiveJob): CronJobView => jobView(live, table.stateOf(live.job.id))

  /** In one transaction: what tells of a job that the file has, or has no more. */
  function told<R>({ caller, action, job, step }: Saved<R>, result: () => R): R {
    return step.settle(() => {
      board.adopt(file.jobs())
      journal.append({
        actor: actorOf(caller),
        action: `cron.${action}`,
        subject: job.id,
        detail: { agent: job.agent, schedule: job.schedule, mode: modeOf(job) },
      })
      tellOfJob(events, job, { action, detail: `by ${actorOf(caller)}` })
      return result()
    })
  }

  async function check(job: CronJob, before: CronJob | null, signal: AbortSignal): Promise<CronJob> {
    const fault = faultsOf(job)[0]
    if (fault) throw badField(fault.field, fault.reason)
    refuseLocked(job, before)
    if (job.when !== undefined) checkCondition(world, job.when)
    // What was checked already is not asked for again: an agent that just started knows its skills only with its first run.
    const isNewCall =
      job.tool_name !== before?.tool_name || !isDeepStrictEqual(job.tool_params, before?.tool_params)
    if (job.tool_name !== undefined && isNewCall) {
      const tools = await world.toolsOf(job.agent, signal)
      checkToolCall(tools, { tool: job.tool_name, params: job.tool_params ?? {}, agentId: job.agent })
    }
    const parsed = cronJobSchema.safeParse(job)
    if (parsed.success) return parsed.data
    const issue = parsed.error.issues[0]
    throw badField(issue?.path.join('.') ?? 'job', issue?.message ?? 'it is not of the agreed form')
  }

  return {
    list(caller, agentId) {
      const all = [...board.all()].filter(({ job }) => agentId === undefined || job.agent === agentId)
      const jobs = seen(world, caller, all).map(view)
      const broken = file.broken()
      // The reason quotes the file, where the jobs of others are.
      return { jobs, broken: broken === null || caller.kind !== 'agent' ? broken : brokenForAgents }
    },
    async create(caller, { step = onceOnly(database), ...input }, signal) {
      guard(caller, { do: 'manage-cron' })
      guardOther(world, caller, input.agent)
      world.requireAgent(input.agent)
      const begun = madeMarkSchema.safeParse(step.begun)
      const before = begun.success ? board.find(begun.data.id) : null
      const seenNow = (id: string) => () => view(requireJob(board, id))
      if (before) return told({ caller, action: 'created', job: before.job, step }, seenNow(before.job.id))
      const fresh = newJob(world, caller, input)
      const made = await check(begun.success ? { ...fresh, id: begun.data.id } : fresh, null, signal)
      // The state stands before the file has the job: what is due from now on has a row, whatever happens next.
      table.putState({
        jobId: made.id,
        agentId: made.agent,
        scheduleKey: scheduleKey(made),
        accountedUntil: clock.now(),
      })
      step.begin({ id: made.id })
      try {
        await file.edit((jobs) => {
          // Its tools were asked for, which takes a while.
          world.requireAgent(made.agent)
          return [...jobs, made]
        })
        return told({ caller, action: 'created', job: made, step }, seenNow(made.id))
      } catch (error) {
        if (!board.find(made.id)) table.forget(made.id)
        throw error
      }
    },
    async update(caller, { id: jobId, change, step = onceOnly(database) }, signal) {
      guard(caller, { do: 'manage-cron' })
      const before = ownJob(deps, caller, jobId)
      const seenNow = () => view(requireJob(board, jobId))
      const begun = changedMarkSchema.safeParse(step.begun)
      if (begun.success && digestOf(before.job) === begun.data.after)
        return told({ caller, action: actionOf(change), job: before.job, step }, seenNow)
      if (begun.success && digestOf(before.job) !== begun.data.before)
        throw new Problem('outcome-unknown', { detail: 'the job was changed since; look at it again' })
      const wished = await check(changedBy(caller, before.job, change), before.job, signal)
      if (ownJob(deps, caller, jobId) !== before)
        throw new Problem('conflict', { detail: 'somebody else changed the job meanwhile; look at it again' })
      fire.due(before)
      step.begin({ before: digestOf(before.job), after: digestOf(wished) })
      await file.edit((jobs) => {
        if (!jobs.some(({ id }) => id === jobId)) throw unknownJob(jobId)
        return jobs.map((job) => (job.id === jobId ? changedBy(caller, job, change) : job))
      })
      return told({ caller, action: actionOf(change), job: wished, step }, seenNow)
    },
    async remove(caller, jobId, step = onceOnly(database)) {
      guard(caller, { do: 'manage-cron' })
      const begun = cronJobSchema.safeParse(step.begun)
      if (begun.success && !board.find(jobId)) {
        told({ caller, action: 'removed', job: begun.data, step }, () => {})
        return
      }
      const { job } = ownJob(deps, caller, jobId)
      if (isOperatorHeartbeat(job)) throw lockedHeartbeat('heartbeat', 'it cannot be removed')
      step.begin(markOf(job))
      await file.edit((jobs) => jobs.filter(({ id }) => id !== jobId))
      told({ caller, action: 'removed', job, step }, () => {})
    },
    async runNow(caller, jobId) {
      guard(caller, { do: 'manage-cron' })
      const live = ownJob(deps, caller, jobId)
      const row = await fire.byHand(live, caller)
      journal.append({
        actor: actorOf(caller),
        action: 'cron.run-by-hand',
        subject: jobId,
        detail: { agent: live.job.agent, run: row.runId ?? '' },
      })
      return rowView(row)
    },
    history(caller, jobId, limit) {
      const [live] = seen(world, caller, [requireJob(board, jobId)])
      if (!live) throw unknownJob(jobId)
      const rows = table.newest(jobId, limit)
      const state = table.stateOf(jobId)
      return {
        job: jobView(live, state),
        rows: rows.map(rowView),
        why: explainJob(live, { state, rows: rows.slice(0, explainedRows), now: clock.now() }),
      }
    },
  }
}

/** An agent sees the jobs that are for it or that it made; whoever may view the fleet sees all. */
function seen({ guard, decide }: CronWorld, caller: Caller, all: readonly LiveJob[]): readonly LiveJob[] {
  if (caller.kind !== 'agent') {
    guard(caller, { do: 'view-fleet' })
    return all
  }
  guard(caller, { do: 'act-for-self', agentId: caller.agentId })
  if (decide(caller, { do: 'view-fleet' }).allowed) return all
  return all.filter(({ job }) => job.agent === caller.agentId || job.created_by === actorOf(caller))
}

function guardOther({ guard }: CronWorld, caller: Caller, agentId: string): void {
  if (caller.kind === 'agent' && caller.agentId !== agentId)
    guard(caller, { do: 'edit-agent-config', agentId })
}

function ownJob({ world, board }: Deps, caller: Caller, jobId: string): LiveJob {
  const live = requireJob(board, jobId)
  if (caller.kind !== 'agent') return live
  const { job } = live
  if (seen(world, caller, [live]).length === 0) throw unknownJob(jobId)
  if (job.agent === caller.agentId && job.created_by !== actorOf(caller)) {
    throw new Problem('denied', {
      detail: `${job.created_by} made this job for you; ask the owner to change it`,
    })
  }
  guardOther(world, caller, job.agent)
  return live
}

function requireJob(board: JobBoard, jobId: string): LiveJob {
  const live = board.find(jobId)
  if (!live) throw unknownJob(jobId)
  return live
}

function unknownJob(jobId: string): Problem {
  return new Problem('not-found', {
    detail: `there is no job ${jobId.slice(0, 100)}; flotilla cron list shows them`,
  })
}

function newJob({ newId, clock }: CronWorld, caller: Caller, input: NewCronJob): CronJob {
  const { timezone, enabled, suppress_empty: suppressEmpty, heartbeat, message, when } = input
  return {
    id: newId('cron'),
    agent: input.agent,
    schedule: input.schedule.trim(),
    timezone: timezone ?? 'UTC',
    enabled: enabled ?? true,
    suppress_empty: suppressEmpty ?? true,
    heartbeat: heartbeat ?? false,
    ...(message === undefined ? {} : { message }),
    ...(input.tool_name === undefined ? {} : { tool_name: input.tool_name }),
    ...(input.tool_params === undefined ? {} : { tool_params: input.tool_params }),
    ...(when === undefined || when.trim() === '' ? {} : { when }),
    created_by: actorOf(caller),
    created_at: clock.now(),
  }
}

/** An agent that says what a job does is its maker from then on: the job may no more than it, and is believed no more. */
function changedBy(caller: Caller, job: CronJob, change: CronChange): CronJob {
  const next = changed(job, change)
  const saysWhat = [change.message, change.tool_name, change.tool_params].some((value) => value !== undefined)
  return saysWhat && caller.kind === 'agent' ? { ...next, created_by: actorOf(caller) } : next
}

/** The job with what may change of it; its mode stays. Problem `bad-request` where the change is one of mode. Pure. */
export function changed(job: CronJob, change: CronChange): CronJob {
  const mode = modeOf(job)
  if (change.tool_name !== undefined && mode !== 'tool')
    throw badField('tool_name', `the job is in ${mode} mode and stays so; remove it and make another`)
  if (change.tool_params !== undefined && mode !== 'tool')
    throw badField('tool_params', `the job is in ${mode} mode and stays so; remove it and make another`)
  if (change.message !== undefined && mode === 'tool')
    throw badField('message', 'the job is in tool mode and stays so; remove it and make another')
  const { when, schedule, ...rest } = change
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const next: CronJob = { ...job, ...given, ...(schedule === undefined ? {} : { schedule: schedule.trim() }) }
  if (when === undefined) return next
  const { when: _before, ...without } = next
  return when.trim() === '' ? without : { ...without, when }
}

function actionOf({ enabled, ...rest }: CronChange): 'updated' | 'paused' | 'resumed' {
  if (enabled === undefined || Object.values(rest).some((value) => value !== undefined)) return 'updated'
  return enabled ? 'resumed' : 'paused'
}

/** What is said of the operator's heartbeat changes nothing of it, or is refused. Problem `bad-request`. */
function refuseLocked(job: CronJob, before: CronJob | null): void {
  if (!isOperatorHeartbeat(job)) return
  const fault = lockFault([job], { held: before, required: true })
  if (fault) throw badField(fault.field, fault.reason)
}

export function lockedHeartbeat(field: string, detail: string): Problem {
  return badField(
    field,
    `the operator's heartbeat is locked to ${defaultHeartbeatSchedule}: ${detail}; flotilla pause operator holds it`,
  )
}

function checkCondition({ readCondition }: CronWorld, when: string): void {
  try {
    readCondition(when)
  } catch (error) {
    throw badField('when', error instanceof Error ? error.message : 'it cannot be understood')
  }
}
