import { isTerminal } from '@flotilla/protocol/run'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../access/caller.ts'
import type { RunRecord } from '../../runs/lifecycle/run-record.ts'
import { conditionPayload } from './condition-payload.ts'
import { inputOf } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import type { CronRow, CronTable, SkipReason } from './cron-table.ts'
import type { CronWorld } from './cron-world.ts'
import type { JobBoard, LiveJob } from './job-board.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'
import { planDues } from './plan-dues.ts'
import type { DuePlan } from './plan-dues.ts'
import { tellOfJob } from './tell-of-job.ts'

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
  settle(row: CronRow, run: RunRecord): void
  /** Heartbeats that are being asked for. */
  pending(): number
  /** Resolves when none is. */
  idle(): Promise<void>
}

const asSystem: Caller = { kind: 'system' }

export function createFireJob(deps: {
  readonly world: CronWorld
  readonly table: CronTable
  readonly board: JobBoard
  readonly settle: (row: CronRow, run: RunRecord) => void
}): FireJob {
  const { world, table, board, settle } = deps
  const { database, clock, ledger, events, log } = world
  const beating = new Set<Promise<unknown>>()

  function skipped(job: CronJob, stretch: Stretch, { reason, detail }: Obstacle): void {
    const { first, last, count, exact } = stretch
    const row = { jobId: job.id, dueAt: first, dueUntil: last, count, countExact: exact }
    const begins = table.skip({ ...row, reason, detail, at: clock.now() })
    table.countSkipped(job.id, count)
    table.trim(job.id)
    // What goes on being let pass for one reason is told once.
    if (!begins) return
    const times = count > 1 ? `${exact ? '' : 'at least '}${count} due times: ` : ''
    tellOfJob(events, job, { action: 'skipped', detail: times + detail })
  }

  /** The rows of everything before the due time that is acted on. */
  function letPass(job: CronJob, { missed }: DuePlan, obstacle: Obstacle = passedBy): void {
    for (const stretch of missed) skipped(job, stretch, obstacle)
  }

  /** Whoever asks, the words are their maker's, and are believed as such. */
  function submit(job: CronJob, firing: { dueAt: number; key: string; askedByPerson: boolean }): RunRecord {
    const input = inputOf(job, firing.dueAt)
    if (!input) throw new Error('a heartbeat has no input of its own')
    return ledger.submitRun(asSystem, {
      agentId: job.agent,
      input,
      trigger: 'cron',
      triggerId: job.created_by,
      idempotencyKey: firing.key,
      askedByPerson: firing.askedByPerson,
    })
  }

  function fired(job: CronJob, row: CronRow, run: RunRecord): void {
    table.markFired(row.seq, run.id)
    table.countFired(job.id, clock.now())
    table.trim(job.id)
    tellOfJob(events, job, { action: 'started', detail: run.id })
    const now = ledger.find(run.id) ?? run
    const written = table.bySeq(row.seq)
    if (written && isTerminal(now.state)) settle(written, now)
  }

  /** The row first, then the asking, then what came of it: a start takes up what a crash left in between. */
  async function beat(job: CronJob, row: CronRow, askedBy?: Caller): Promise<void> {
    const { dueAt, manual } = row
    const answer = await world
      .fireHeartbeat(job.agent, { manual, jobId: job.id, dueAt, ...(askedBy ? { askedBy } : {}) })
      .catch((error: unknown) => ({
        failed: error,
      }))
    database.transaction(() => {
      if ('fired' in answer) return fired(job, row, answer.fired)
      const failed = 'failed' in answer
      const words = failed ? wordsOf(answer.failed) : answer.skipped
      table.markSkipped(row.seq, failed ? reasonOf(answer.failed) : 'heartbeat', words)
      table.countSkipped(job.id, 1)
      tellOfJob(events, job, { action: 'skipped', detail: words })
    })
    if ('failed' in answer) throw answer.failed
  }

  function track(job: CronJob, work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => log.warn({ jobId: job.id, err: error }, 'a heartbeat was not fired'))
      .finally(() => beating.delete(tracked))
    beating.add(tracked)
  }

  function insertFiring(
    job: CronJob,
    firing: { dueAt: number; manual: boolean; at: number },
  ): CronRow | null {
    const lateMs = Math.max(0, firing.at - firing.dueAt)
    if (!table.insertFiring({ jobId: job.id, ...firing, lateMs })) return null
    return table.firingRow(job.id, firing.dueAt, firing.manual)
  }

  /** A full lane takes what is asked for by hand at its head, once for each job: asked for again, it is the same. */
  function waitingByHand(job: CronJob): CronRow | null {
    if (!ledger.isLaneFull({ agentId: job.agent, proactive: false })) return null
    const isWaiting = ({ manual, runId }: CronRow): boolean =>
      manual && runId !== null && ledger.find(runId)?.state === 'queued'
    return table.openOf(job.id).findLast(isWaiting) ?? null
  }

  /** Everything due has its row after this, but for a last due time that a pause holds. */
  function fireDue(live: LiveJob, plan: DuePlan, now: number): 'acted' | 'held' {
    const { job } = live
    const paused = world.pausedReason(job.agent)
    if (paused !== null) {
      letPass(job, plan, { reason: 'paused', detail: paused })
      return 'held'
    }
    act(live, plan, now)
    return 'acted'
  }

  function act(live: LiveJob, plan: DuePlan, now: number): void {
    const { job } = live
    const dueAt = plan.fire
    if (dueAt === null) return letPass(job, plan)
    const obstacle = obstacleTo(deps, live, dueAt)
    if (obstacle) {
      letPass(job, plan)
      return skipped(job, one(dueAt), obstacle)
    }
    letPass(job, plan)
    const row = insertFiring(job, { dueAt, manual: false, at: now })
    if (!row) return
    if (job.heartbeat) database.afterCommit(() => track(job, beat(job, row)))
    else fired(job, row, submit(job, { dueAt, key: `cron:${job.id}:${dueAt}`, askedByPerson: false }))
  }

  return {
    settle,
    pending: () => beating.size,
    idle: async () => {
      while (beating.size > 0) await Promise.all(beating)
    },
    due(live) {
      const now = clock.now()
      const { job, schedule } = live
      if (!job.enabled) return false
      const after = board.accountedUntil(job.id)
      const plan = planDues(schedule, { after, until: now, taken: table.taken(job.id, after, now) })
      try {
        database.transaction(() => {
          const held = plan !== null && fireDue(live, plan, now) === 'held'
          if (held && plan.fire !== null) board.hold(live, plan.fire)
          else board.account(live, now)
        })
      } catch (error) {
        if (!(error instanceof Problem)) log.error({ jobId: job.id, err: error }, 'a job could not be fired')
        if (!plan) return false
        database.transaction(() => {
          letPass(job, plan)
          if (plan.fire !== null)
            skipped(job, one(plan.fire), { reason: reasonOf(error), detail: wordsOf(error) })
          board.account(live, now)
        })
      }
      return plan !== null
    },
    async byHand({ job }, askedBy) {
      const now = clock.now()
      if (job.heartbeat) {
        const row = database.transaction(() => insertFiring(job, { dueAt: now, manual: true, at: now }))
        if (!row) throw new Error('a row by hand is always written')
        const work = beat(job, row, askedBy)
        track(job, work)
        await work
        return table.bySeq(row.seq) ?? row
      }
      return database.transaction(() => {
        const waiting = waitingByHand(job)
        if (waiting) return waiting
        const row = insertFiring(job, { dueAt: now, manual: true, at: now })
        if (!row) throw new Error('a row by hand is always written')
        fired(
          job,
          row,
          submit(job, { dueAt: now, key: `cron:${job.id}:by-hand:${row.seq}`, askedByPerson: true }),
        )
        return table.bySeq(row.seq) ?? row
      })
    },
    resume() {
      for (const row of table.firing()) {
        const live = board.find(row.jobId)
        if (live?.job.heartbeat) track(live.job, beat(live.job, row))
        else table.markSkipped(row.seq, 'changed', 'the job was changed before it was its turn')
      }
    },
  }
}

interface Obstacle {
  readonly reason: SkipReason
  readonly detail: string
}

interface Stretch {
  readonly first: number
  readonly last: number
  readonly count: number
  readonly exact: boolean
}

/** Of due times with a later one that has come too. */
const passedBy: Obstacle = {
  reason: 'missed',
  detail: 'nothing looked at it in time, and only the last due time is acted on',
}

function one(dueAt: number): Stretch {
  return { first: dueAt, last: dueAt, count: 1, exact: true }
}

function wordsOf(error: unknown): string {
  if (error instanceof Problem) return error.detail === '' ? error.code : `${error.code}: ${error.detail}`
  return error instanceof Error ? error.message : 'it failed'
}

function reasonOf(error: unknown): SkipReason {
  return error instanceof Problem ? 'refused' : 'error'
}

/** What keeps a scheduled firing from being one, first things first. */
function obstacleTo(
  { world, table, settle }: Parameters<typeof createFireJob>[0],
  { job, when }: LiveJob,
  dueAt: number,
): Obstacle | null {
  const maker = refusalOfMaker(world, job)
  if (maker !== null) return { reason: 'maker', detail: maker }
  world.requireAgent(job.agent)
  const open = table.openOf(job.id).filter((row) => {
    if (row.runId === null) return true
    const run = world.ledger.find(row.runId)
    // A run whose end was not heard of is settled here and now.
    if (run && isTerminal(run.state)) settle(row, run)
    // A heartbeat that waits for what it handed on keeps nobody from looking around again.
    return run !== null && !isTerminal(run.state) && !(job.heartbeat && run.state === 'waiting')
  })
  const before = open[0]
  if (before) {
    const what = before.runId === null ? 'is being fired' : `goes on as ${before.runId}`
    return { reason: 'overlap', detail: `the one before ${what}` }
  }
  if (typeof when === 'string') return { reason: 'error', detail: `its condition: ${when}` }
  if (when && !when(conditionPayload(job, dueAt, table.stateOf(job.id))))
    return { reason: 'condition', detail: `it did not hold: ${job.when ?? ''}` }
  return null
}

/** A job does no more than its maker may at the moment of firing. */
function refusalOfMaker({ decide }: CronWorld, job: CronJob): string | null {
  const maker = /^agent:(.+)$/.exec(job.created_by)?.[1]
  // The mesh itself keeps the operator's heartbeat, whoever is written there.
  if (maker === undefined || isOperatorHeartbeat(job)) return null
  const caller: Caller = { kind: 'agent', agentId: maker, token: 'door', run: null }
  const may = decide(caller, { do: 'manage-cron' })
  if (!may.allowed) return `${maker}, which made it, may not: ${may.reason}`
  if (maker === job.agent) return null
  const mayForOther = decide(caller, { do: 'edit-agent-config', agentId: job.agent })
  return mayForOther.allowed ? null : `${maker}, which made it, may not: ${mayForOther.reason}`
}
