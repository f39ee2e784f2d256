import { setImmediate as breath } from 'node:timers/promises'
import type { CronDeps } from './cron-deps.ts'
import type { CronJobs } from './cron-jobs.ts'
import { heartbeatsAtOnceMax } from './fire-job.ts'
import type { FireJob } from './fire-job.ts'
import type { LiveJob } from './cron-job.ts'
import { cronTickMs } from './cron-tick.ts'

/** The maximum number of jobs that one tick fires, the longest due first. The others fire at the next tick. */
export const firedPerTickMax = 100
/** How many jobs are fired between two yields to the event loop. Each job is a commit. */
const jobsPerBreath = 10

/** Returns the result of the steps, and yields to the event loop between them; few due times take one step. */
async function inSteps<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await breath()
  }
}

export interface CronTicker {
  /** Fires the jobs that are due and returns their number. Never rejects. */
  tick(): Promise<number>
  /** Ticks every 5 s, aligned to the clock, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export function createCronTicker({
  deps: { kernel, pausedReason },
  jobs: { schedule, file, heartbeatJobs },
  fire,
}: {
  readonly deps: Pick<CronDeps, 'kernel' | 'pausedReason'>
  readonly jobs: CronJobs
  readonly fire: FireJob
}): CronTicker {
  const { clock, log } = kernel
  const isPaused = (agentId: string): boolean => pausedReason(agentId) !== null

  /** Fires due jobs, up to the limits, and returns their number. Called before changed jobs replace current jobs. */
  async function fireAll(signal?: AbortSignal): Promise<number> {
    const heartbeatsMax = heartbeatsAtOnceMax - fire.pending()
    const due = dueNow(schedule.all(), { now: clock.now(), heartbeatsMax, isPaused })
    let acted = 0
    for (const live of due) {
      if (signal?.aborted) break
      // The job may have been replaced while earlier jobs were fired.
      const isSame = () => schedule.find(live.job.id) === live
      if (!isSame()) continue
      try {
        const planned = await inSteps(fire.plan(live))
        if (signal?.aborted) break
        if (isSame()) fire.due(live, planned)
      } catch (error) {
        log.error(
          { jobId: live.job.id, err: error },
          'failed to record a due time of a cron job; retrying at the next tick',
        )
      }
      acted += 1
      if (acted % jobsPerBreath === 0) await breath()
    }
    return acted
  }

  async function tick(signal?: AbortSignal): Promise<number> {
    try {
      schedule.noticeTime()
      const acted = await fireAll(signal)
      if (await file.poll()) {
        schedule.adopt(file.jobs())
        await heartbeatJobs.writeStandIn()
      }
      return acted
    } catch (error) {
      log.error({ err: error }, 'failed to run a cron tick; due jobs wait for the next tick')
      return 0
    }
  }

  return {
    tick: () => tick(),
    async run(signal) {
      fire.resume()
      while (!signal.aborted) {
        await tick(signal)
        const now = clock.now()
        await clock.sleep(cronTickMs - (now % cronTickMs), signal).catch(() => {})
      }
      await fire.idle()
    },
  }
}

/**
 * Returns the due jobs, longest due first. A job whose due time a pause defers is left out until its
 * next due time. Heartbeats above the limit are left out, so that they do not displace other jobs. Pure.
 */
export function dueNow(
  jobs: Iterable<LiveJob>,
  {
    now,
    heartbeatsMax,
    isPaused,
  }: {
    readonly now: number
    readonly heartbeatsMax: number
    readonly isPaused: (agentId: string) => boolean
  },
): readonly LiveJob[] {
  const due: LiveJob[] = []
  for (const live of jobs) {
    if (live.nextDue > now) continue
    if (live.heldUntil !== null && now < live.heldUntil && isPaused(live.job.agent)) continue
    due.push(live)
  }
  if (due.length > 1) due.sort((left, right) => left.nextDue - right.nextDue)
  let room = heartbeatsMax
  return due.filter(({ job }) => !job.heartbeat || room-- > 0).slice(0, firedPerTickMax)
}
