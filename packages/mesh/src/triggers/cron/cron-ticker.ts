import { setImmediate as breath } from 'node:timers/promises'
import { limits } from '@flotilla/protocol/limits'
import type { CronDeps } from './cron-deps.ts'
import type { CronJobs } from './cron-jobs.ts'
import { heartbeatsAtOnceMax } from './fire-job.ts'
import type { FireJob } from './fire-job.ts'
import type { LiveJob } from './cron-job.ts'

/** Jobs that one tick acts on, the longest due first; the rest are late at the next. */
export const firedPerTickMax = 100
/** Jobs between two breaths of the event loop; each is a commit. */
const jobsPerBreath = 10

export interface CronTicker {
  /** What is due now; how many jobs were acted on. Never rejects. */
  tick(): Promise<number>
  /** Ticks every 5 s, at whole ones of the clock, until the signal aborts. */
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

  /** What was due under the old jobs is acted on before the new ones take their place. */
  async function fireAll(signal?: AbortSignal): Promise<number> {
    const heartbeatsMax = heartbeatsAtOnceMax - fire.pending()
    const due = dueNow(schedule.all(), { now: clock.now(), heartbeatsMax, isPaused })
    let acted = 0
    for (const live of due) {
      if (signal?.aborted) break
      // Meanwhile another may stand in its place.
      if (schedule.find(live.job.id) !== live) continue
      try {
        fire.due(live)
      } catch (error) {
        log.error(
          { jobId: live.job.id, err: error },
          'due time of a cron job could not be recorded; it is due again at the next tick',
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
      log.error({ err: error }, 'cron tick failed; due jobs wait for the next')
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
        await clock.sleep(limits.cronTickMs - (now % limits.cronTickMs), signal).catch(() => {})
      }
      await fire.idle()
    },
  }
}

/**
 * The longest due first. What a pause holds is left alone until its next due time, and heartbeats that have no room take
 * no place from other jobs. Pure.
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
