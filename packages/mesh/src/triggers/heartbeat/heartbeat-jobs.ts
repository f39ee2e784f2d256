import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'

/** A heartbeat as it is scheduled: the job of an agent that has `heartbeat: true`. */
export interface HeartbeatJob {
  readonly agentId: string
  /** `every 15m`, or whatever schedules may be where they are kept. */
  readonly schedule: string
  /** False for an agent whose owner wants none: kept, so that nothing makes it anew. */
  readonly enabled: boolean
}

/**
 * PORT: where heartbeats are scheduled. One for each agent at most.
 *
 * - J1 `put` replaces the job of the agent; what it does not name of a job that is there stays.
 * - J2 `remove` of what is not there is no error.
 * - J3 Ids count whole: a job of `agent2` is none of `agent`.
 * - J4 The operator's is every 15 minutes and on: `put` of another and `remove` of it reject with `bad-request`.
 * - J5 Where what is kept is broken, `put` and `remove` reject with `unprocessable`, with the reason, and change
 *   nothing; `find` gives the jobs as they were before.
 */
export interface HeartbeatJobs {
  find(agentId: string): HeartbeatJob | null | Promise<HeartbeatJob | null>
  put(job: HeartbeatJob): Promise<unknown>
  remove(agentId: string): Promise<void>
}

/** Pure. The operator watches the fleet: nobody makes it look away or look seldom. */
export function isLocked(agentId: string): boolean {
  return agentId === operatorAgentId
}

/** Pure. The job that is kept to, whatever is written: by a person, an agent, or a hand in the file. */
export function heldJob(job: HeartbeatJob): HeartbeatJob {
  return isLocked(job.agentId) ? { ...job, schedule: defaultHeartbeatSchedule, enabled: true } : job
}
