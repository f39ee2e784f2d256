import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { CronJob } from './cron-job.ts'

/**
 * The operator's heartbeat watches the fleet, so nobody turns it off, conditions, changes or removes it: no person, no
 * agent and no hand in the file. What holds it is the pause, which says so wherever one looks. Pure.
 */
export function isOperatorHeartbeat(job: Pick<CronJob, 'agent' | 'heartbeat'>): boolean {
  return job.heartbeat && job.agent === operatorAgentId
}

/** What the file has to have. */
export interface HeartbeatLock {
  /** As it stood in the last whole file, or null where none was read yet. */
  readonly held: CronJob | null
  /** Whether it must be there at all; a new home has none yet. */
  readonly required: boolean
}

interface LockFault {
  /** Where in the file, as far as it is there. */
  readonly path: readonly (string | number)[]
  readonly field: string
  readonly reason: string
}

/** The id of the one that the mesh goes by while the file has none; also of the one that a new home gets. */
export const ownHeartbeatId = 'operator-heartbeat'

const pauseWords = 'flotilla pause operator holds it'

/** The heartbeat that a mesh makes by itself. Pure. */
export function ownHeartbeat(more: Pick<CronJob, 'id' | 'created_at'>): CronJob {
  return lockedJob({ ...more, agent: operatorAgentId, created_by: 'system' })
}

/** The job as it has to be; only who made it, when, and its name are its own. Pure. */
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

/** What of the jobs is against the lock, first things first, or null. Pure. */
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
  const words = stays === undefined ? `it has no ${field}` : `${field} stays ${JSON.stringify(stays)}`
  return {
    path: ['jobs', at, field],
    field,
    reason: `the operator's heartbeat is locked: ${words}, and nobody changes that (${pauseWords})`,
  }
}

function missing(jobs: readonly CronJob[], held: CronJob | null): LockFault {
  const at = held === null ? -1 : jobs.findIndex(({ id }) => id === held.id)
  const field = jobs[at]?.agent === operatorAgentId ? 'heartbeat' : 'agent'
  const whole = JSON.stringify(lockedJob(held ?? ownHeartbeat({ id: ownHeartbeatId, created_at: 0 })))
  return {
    path: at === -1 ? ['jobs'] : ['jobs', at, field],
    field: at === -1 ? 'jobs' : field,
    reason: `the operator's heartbeat is not among the jobs, and nobody takes it away (${pauseWords}); put ${whole} back`,
  }
}
