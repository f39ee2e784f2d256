import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../access/index.ts'
import type { RunRecord } from '../../runs/index.ts'
import { askHeartbeat } from './ask-heartbeat.ts'
import { inputOf } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import type { CronRow } from './cron-table.ts'
import { findObstacle } from './find-obstacle.ts'
import type { LiveJob } from './job-schedule.ts'
import { planDues } from './plan-dues.ts'
import type { DuePlan } from './plan-dues.ts'
import {
  beginRow,
  beginRowByHand,
  obstacleOfError,
  recordFired,
  recordMissed,
  recordSkipped,
} from './record-firing.ts'
import type { Firing } from './record-firing.ts'

/** Heartbeats that are asked for at once; the rest of a tick waits for the next. */
export const heartbeatsAtOnceMax = 100

/**
 * Acts on what is due of one job.
 *
 * 1. A row that says fired, the run that it became and the mark up to which all is accounted for are one transaction,
 *    and the run's key is the job and its due time: cut off anywhere, the due time is acted on once.
 * 2. What is let pass has a row that says why. Nothing that one job does keeps another from its turn.
 * 3. A pause holds the last due time, which fires once when it ends; those before it have been let pass.
 * 4. A run by hand is fired whatever schedule, condition, overlap, a pause, a full lane and `enabled` say; where it
 *    cannot, its asker is told.
 */
export interface FireJob {
  /** False where nothing was due. */
  due(live: LiveJob): boolean
  /** Problems of `submitRun`, of which the row tells as well. */
  byHand(live: LiveJob, askedBy: Caller): Promise<CronRow>
  /** Asks again for heartbeats that were cut off in the asking. */
  resume(): void
  /** Heartbeats that are being asked for. */
  pending(): number
  /** Resolves when none is. */
  idle(): Promise<void>
}

const asSystem: Caller = { kind: 'system' }

export function createFireJob(deps: Omit<Firing, 'asking'>): FireJob {
  const firing: Firing = { ...deps, asking: new Set() }
  const { asking } = firing
  return {
    due: (live) => fireDue(firing, live),
    byHand: async ({ job }, askedBy) =>
      job.heartbeat ? heartbeatByHand(firing, job, askedBy) : submitByHand(firing, job),
    resume: () => resume(firing),
    pending: () => asking.size,
    idle: async () => {
      while (asking.size > 0) await Promise.all(asking)
    },
  }
}

function fireDue(firing: Firing, live: LiveJob): boolean {
  const { kernel } = firing.deps
  const { table, schedule } = firing.jobs
  const { job } = live
  const now = kernel.clock.now()
  if (!job.enabled) return false
  const after = schedule.accountedUntil(job.id)
  const plan = planDues(live.schedule, { after, until: now, taken: table.taken(job.id, after, now) })
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
        'cron job could not be fired; its row says why, and it is tried again at its next due time',
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

interface DueNow {
  readonly plan: DuePlan
  readonly now: number
}

/** Everything due has its row after this, but for a last due time that a pause holds (3); false where one does. */
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
  const run = submit(firing, job, { dueAt, key: `cron:${job.id}:${dueAt}`, askedByPerson: false })
  recordFired(firing, { job, row, run })
}

/** Whoever asks, the words are their maker's, and are believed as such. */
function submit(
  { deps }: Firing,
  job: CronJob,
  asked: { readonly dueAt: number; readonly key: string; readonly askedByPerson: boolean },
): RunRecord {
  const input = inputOf(job, asked.dueAt)
  if (!input) throw new Error('a heartbeat has no input of its own')
  return deps.runs.submitRun(asSystem, {
    agentId: job.agent,
    input,
    trigger: 'cron',
    triggerId: job.created_by,
    idempotencyKey: asked.key,
    askedByPerson: asked.askedByPerson,
  })
}

async function heartbeatByHand(firing: Firing, job: CronJob, askedBy: Caller): Promise<CronRow> {
  const { clock, database } = firing.deps.kernel
  const row = database.transaction(() => beginRowByHand(firing, job, clock.now()))
  await askHeartbeat(firing, { job, row, askedBy })
  return firing.jobs.table.bySeq(row.seq) ?? row
}

function submitByHand(firing: Firing, job: CronJob): CronRow {
  const { clock, database } = firing.deps.kernel
  const now = clock.now()
  return database.transaction(() => {
    const waiting = waitingByHand(firing, job)
    if (waiting) return waiting
    const row = beginRowByHand(firing, job, now)
    const key = `cron:${job.id}:by-hand:${row.seq}`
    const run = submit(firing, job, { dueAt: now, key, askedByPerson: true })
    recordFired(firing, { job, row, run })
    return firing.jobs.table.bySeq(row.seq) ?? row
  })
}

/** A full lane takes what is asked for by hand at its head, once for each job: asked for again, it is the same. */
function waitingByHand({ deps: { runs }, jobs }: Firing, job: CronJob): CronRow | null {
  if (!runs.isLaneFull({ agentId: job.agent, proactive: false })) return null
  const isWaiting = ({ manual, runId }: CronRow): boolean =>
    manual && runId !== null && runs.find(runId)?.state === 'queued'
  return jobs.table.openOf(job.id).findLast(isWaiting) ?? null
}

function resume(firing: Firing): void {
  const { table, schedule } = firing.jobs
  for (const row of table.firing()) {
    const job = schedule.find(row.jobId)?.job
    if (job?.heartbeat) void askHeartbeat(firing, { job, row })
    else table.markSkipped(row.seq, 'changed', 'the job was changed before it was its turn')
  }
}
