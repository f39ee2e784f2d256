import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { HeartbeatJob } from './heartbeat-jobs.ts'

/** Pure. The operator watches the fleet: nobody makes it look away or look seldom. */
export function isLocked(agentId: string): boolean {
  return agentId === operatorAgentId
}

/** Pure. The job that is kept to, whatever is written: by a person, an agent, or a hand in the file. */
export function heldJob(job: HeartbeatJob): HeartbeatJob {
  return isLocked(job.agentId) ? { ...job, schedule: defaultHeartbeatSchedule, enabled: true } : job
}
