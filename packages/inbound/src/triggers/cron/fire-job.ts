import { isDeepStrictEqual } from 'node:util'
import { Problem } from '@flotilla/protocol/problem'
import type { RunInput } from '@flotilla/protocol/run'
import type { Caller } from '@flotilla/identity/access'
import type { RunRecord } from '@flotilla/work/runs'
import { askHeartbeat } from './ask-heartbeat.ts'
import type { CronJob, LiveJob } from './cron-job.ts'
import { findObstacle } from './find-obstacle.ts'
import { planDues, planDuesInSteps } from './plan-dues.ts'
import type { DuePlan, DueRange } from './plan-dues.ts'
import { beginRow, obstacleOfError, recordFired, recordMissed, recordSkipped } from './record-firing.ts'
import type { Firing } from './record-firing.ts'

/** The maximum number of heartbeats that are requested in parallel. The others wait for the next tick. */
export const heartbeatsAtOnceMax = 100

/**
 * Fires due times of a job.
 *
 * 1. The row, the run and the job's accounted-until mark are one transaction, and the run's idempotency key is
 * job and due time. An interruption at any point therefore fires the due time exactly once.
 * 2. Each skipped due time has a row with the reason. An error of one job does not affect the others.
 * 3. During a pause the last due time waits and fires once when the pause ends. Earlier due times are skipped.
 */
export interface FireJob {
  /**
   * Fires the job if it is due; returns false if it was not due. If the plan no longer fits the
   * job, a new plan is made, which counts fewer due times exactly.
   */
  due(live: LiveJob, planned?: PlannedDues): boolean
  /** Plans the job's due times, in steps between which the caller yields to the event loop. */
  plan(live: LiveJob): Generator<void, PlannedDues>
  /** Repeats heartbeat requests that were interrupted. */
  resume(): void
  /** Returns the number of heartbeat requests in progress. */
  pending(): number
  /** Resolves when no heartbeat request is in progress. */
  idle(): Promise<void>
}

/** A plan and the range that it covers. */
export interface PlannedDues extends DueRange {
  readonly plan: DuePlan | null
}

const asSystem: Caller = { kind: 'system' }

export function createFireJob(firing: Firing): FireJob {
  const { asking } = firing
  return {
    due: (live, planned) => fireDue(firing, live, planned),
    *plan(live) {
      const range = rangeOf(firing, live, firing.deps.kernel.clock.now())
      return { ...range, plan: yield* planDuesInSteps(live.schedule, range) }
    },
    resume: () => resume(firing),
    pending: () => asking.size,
    idle: async () => {
      while (asking.size > 0) await Promise.all(asking)
    },
  }
}

function rangeOf({ jobs: { table, schedule } }: Firing, { job }: LiveJob, until: number): DueRange {
  const after = schedule.accountedUntil(job.id)
  return { after, until, taken: table.taken(job.id, after, until) }
}

function fireDue(firing: Firing, live: LiveJob, planned?: PlannedDues): boolean {
  const { kernel } = firing.deps
  const { schedule } = firing.jobs
  const { job } = live
  if (!job.enabled) return false
  const present = kernel.clock.now()
  // Since the plan was made, the clock may have been set back, or a person may have fired the job.
  const now = planned === undefined ? present : Math.min(planned.until, present)
  const range = rangeOf(firing, live, now)
  const holds = planned !== undefined && isDeepStrictEqual(range, rangeIn(planned))
  const plan = holds ? planned.plan : planDues(live.schedule, range)
  try {
    kernel.database.transaction(() => {
      const isHeld = plan !== null && !actUnlessPaused(firing, live, { plan, now })
      if (isHeld && plan.fire !== null) schedule.hold(live, plan.fire)
      else schedule.account(live, now)
    })
  } catch (error) {
    if (!(error instanceof Problem))
      kernel.log.error(
        { jobId: job.id, agentId: job.agent, err: error },
        'failed to fire a cron job; retrying at its next due time',
      )
    if (!plan) return false
    kernel.database.transaction(() => {
      recordMissed(firing, job, plan)
      if (plan.fire !== null) recordSkipped(firing, job, { due: plan.fire, because: obstacleOfError(error) })
      schedule.account(live, now)
    })
  }
  return plan !== null
}

function rangeIn({ after, until, taken }: DueRange): DueRange {
  return { after, until, taken }
}

interface DueNow {
  readonly plan: DuePlan
  readonly now: number
}

/** Records all due times, except a last due time that waits for a pause (3). Returns false if one waits. */
function actUnlessPaused(firing: Firing, live: LiveJob, due: DueNow): boolean {
  const { job } = live
  const paused = firing.deps.pausedReason(job.agent)
  if (paused === null) {
    act(firing, live, due)
    return true
  }
  recordMissed(firing, job, { missed: due.plan.missed, because: { reason: 'paused', detail: paused } })
  return false
}

function act(firing: Firing, live: LiveJob, { plan: { fire: dueAt, missed }, now }: DueNow): void {
  const { job } = live
  const obstacle = dueAt === null ? null : findObstacle(firing, live, dueAt)
  recordMissed(firing, job, { missed })
  if (dueAt === null) return
  if (obstacle) {
    recordSkipped(firing, job, { due: dueAt, because: obstacle })
    return
  }
  const row = beginRow(firing, job, { dueAt, manual: false, at: now })
  if (!row) return
  if (job.heartbeat) {
    firing.deps.kernel.database.afterCommit(() => void askHeartbeat(firing, { job, row }))
    return
  }
  const run = submitJob(firing, job, { dueAt, key: `cron:${job.id}:${dueAt}`, requestedByPerson: false })
  recordFired(firing, { job, row, run })
}

/** Submits and returns the run. Its text counts as the maker's, also if another person triggered the run. */
export function submitJob(
  { deps }: Firing,
  job: CronJob,
  request: { readonly dueAt: number; readonly key: string; readonly requestedByPerson: boolean },
): RunRecord {
  const input = inputOf(job, request.dueAt)
  if (!input) throw new Error('a heartbeat has no input of its own')
  return deps.runs.submitRun(asSystem, {
    agentId: job.agent,
    input,
    trigger: 'cron',
    triggerId: job.created_by,
    idempotencyKey: request.key,
    requestedByPerson: request.requestedByPerson,
  })
}

/**
 * Returns the input of the run. Each firing has its own session, because a session for all would
 * reach the limit of rounds. Null for a heartbeat, whose message another module writes. Pure.
 */
function inputOf(job: CronJob, dueAt: number): RunInput | null {
  if (job.heartbeat) return null
  if (job.tool_name !== undefined) return { kind: 'tool', tool: job.tool_name, params: job.tool_params ?? {} }
  return { kind: 'chat', message: job.message ?? '', session: `cron:${job.id}:${dueAt}` }
}

function resume(firing: Firing): void {
  const { table, schedule } = firing.jobs
  for (const row of table.firing()) {
    const job = schedule.find(row.jobId)?.job
    if (job?.heartbeat) void askHeartbeat(firing, { job, row })
    else table.markSkipped(row.seq, 'changed', 'the job was changed before it was due')
  }
}
