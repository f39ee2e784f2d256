import { setImmediate as breath } from 'node:timers/promises'
import { limits } from '@flotilla/protocol/limits'
import type { CronFile } from './cron-file.ts'
import type { CronWorld } from './cron-world.ts'
import { heartbeatsAtOnceMax } from './fire-job.ts'
import type { FireJob } from './fire-job.ts'
import type { JobBoard, LiveJob } from './job-board.ts'

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

export function createCronTicker(deps: {
  readonly world: Pick<CronWorld, 'clock' | 'log' | 'pausedReason'>
  readonly board: JobBoard
  readonly file: CronFile
  readonly fire: FireJob
  /** After new jobs of the file were taken. Never rejects. */
  readonly changed: () => Promise<void>
}): CronTicker {
  const { board, file, fire } = deps
  const { clock, log, pausedReason } = deps.world
  const isPaused = (agentId: string): boolean => pausedReason(agentId) !== null

  /** What was due under the old jobs is acted on before the new ones take their place. */
  async function fireAll(signal?: AbortSignal): Promise<number> {
    const heartbeatsMax = heartbeatsAtOnceMax - fire.pending()
    const due = dueNow(board.all(), { now: clock.now(), heartbeatsMax, isPaused })
    let acted = 0
    for (const live of due) {
      if (signal?.aborted) break
      // Meanwhile another may stand in its place.
      if (board.find(live.job.id) !== live) continue
      try {
        fire.due(live)
      } catch (error) {
        log.error({ jobId: live.job.id, err: error }, 'what became of a due time could not be written down')
      }
      acted += 1
      if (acted % jobsPerBreath === 0) await breath()
    }
    return acted
  }

  async function tick(signal?: AbortSignal): Promise<number> {
    try {
      board.noticeTime()
      const acted = await fireAll(signal)
      if (await file.look()) {
        board.adopt(file.jobs())
        await deps.changed()
      }
      return acted
    } catch (error) {
      log.error({ err: error }, 'a tick of the jobs failed')
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
