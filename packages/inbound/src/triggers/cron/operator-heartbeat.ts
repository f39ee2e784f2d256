import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { CronJob } from './cron-job.ts'

/**
 * True for the operator's heartbeat, which monitors the fleet. No person, agent or edit of the file can
 * disable, condition, change or remove it. Only a pause, which is visible everywhere, defers it. Pure.
 */
export function isOperatorHeartbeat(job: Pick<CronJob, 'agent' | 'heartbeat'>): boolean {
  return job.heartbeat && job.agent === operatorAgentId
}

/** The state of the operator's heartbeat that `config/cron.json` must preserve. */
export interface HeartbeatLock {
  /** The heartbeat in the last valid file that had it; null if no such file was read yet. */
  readonly held: CronJob | null
  /** True if the file must contain the heartbeat. A new home's file does not contain it yet. */
  readonly required: boolean
}

interface LockFault {
  /** The position of the fault in the file. Its last step, the field, may be missing in the file. */
  readonly path: readonly (string | number)[]
  readonly field: string
  readonly reason: string
}

/** The id of the heartbeat in memory while the file has no heartbeat, and of the first heartbeat in a new home. */
export const ownHeartbeatId = 'operator-heartbeat'

const pauseWords = 'to hold it use flotilla pause operator'

/** Returns the heartbeat that the mesh creates itself. Pure. */
export function ownHeartbeat(more: Pick<CronJob, 'id' | 'created_at'>): CronJob {
  return lockedJob({ ...more, agent: operatorAgentId, created_by: 'system' })
}

/** Returns the job with its fixed values; only id, maker and creation time vary. Pure. */
export function lockedJob(job: Pick<CronJob, 'id' | 'agent' | 'created_by' | 'created_at'>): CronJob {
  return {
    id: job.id,
    agent: job.agent,
    schedule: defaultHeartbeatSchedule,
    timezone: 'UTC',
    enabled: true,
    suppress_empty: true,
    heartbeat: true,
    created_by: job.created_by,
    created_at: job.created_at,
  }
}

/** Returns the first violation of the lock, or null. Pure. */
export function lockFault(jobs: readonly CronJob[], { held, required }: HeartbeatLock): LockFault | null {
  const at = jobs.findIndex(isOperatorHeartbeat)
  const own = jobs[at]
  if (!own) return required ? missing(jobs, held) : null
  const expected: Partial<Record<string, unknown>> = lockedJob(held ?? own)
  const found: Partial<Record<string, unknown>> = own
  const field = [...Object.keys(expected), ...Object.keys(found)].find(
    (name) => found[name] !== expected[name],
  )
  if (field === undefined) return null
  const stays = expected[field]
  const why =
    stays === undefined
      ? `this job may not have the field ${field}`
      : `the field ${field} must be ${JSON.stringify(stays)}`
  return {
    path: ['jobs', at, field],
    field,
    reason: `the heartbeat of the operator cannot be changed: ${why} (${pauseWords})`,
  }
}

function missing(jobs: readonly CronJob[], held: CronJob | null): LockFault {
  const at = held === null ? -1 : jobs.findIndex(({ id }) => id === held.id)
  const field = jobs[at]?.agent === operatorAgentId ? 'heartbeat' : 'agent'
  const whole = JSON.stringify(lockedJob(held ?? ownHeartbeat({ id: ownHeartbeatId, created_at: 0 })))
  return {
    path: at === -1 ? ['jobs'] : ['jobs', at, field],
    field: at === -1 ? 'jobs' : field,
    reason: `the heartbeat of the operator is missing, and it cannot be removed (${pauseWords}); add this job again: ${whole}`,
  }
}
