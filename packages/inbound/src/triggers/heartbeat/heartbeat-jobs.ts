import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'

/** A scheduled heartbeat: the agent's job with `heartbeat: true`. */
export interface HeartbeatJob {
  readonly agentId: string
  /** The schedule: `every 15m`, or another form that the store supports. */
  readonly schedule: string
  /** False for an agent whose owner wants no heartbeat. The job is kept, so that the default is not created again. */
  readonly enabled: boolean
}

/**
 * PORT: the schedule of heartbeats, at most one per agent.
 *
 * - J1 `put` replaces the agent's job; fields that the call does not name stay.
 * - J2 `remove` of a missing job is not an error.
 * - J3 Ids are compared in full: `agent2` does not match `agent`.
 * - J4 The operator's heartbeat is every 15 minutes and enabled: another `put` and `remove` reject
 * with `bad-request`.
 * - J5 If the store is corrupt, `put` and `remove` reject with `unprocessable` and the reason, and
 * change nothing; `find` returns the previous jobs.
 */
export interface HeartbeatJobs {
  find(agentId: string): HeartbeatJob | null | Promise<HeartbeatJob | null>
  put(job: HeartbeatJob): Promise<unknown>
  remove(agentId: string): Promise<void>
}

/** True for the operator, whose heartbeat cannot be changed, because the operator monitors the fleet. Pure. */
export function isLocked(agentId: string): boolean {
  return agentId === operatorAgentId
}

/** Returns the effective job: the operator's is fixed, whatever a person, an agent or the file says. Pure. */
export function heldJob(job: HeartbeatJob): HeartbeatJob {
  return isLocked(job.agentId) ? { ...job, schedule: defaultHeartbeatSchedule, enabled: true } : job
}
