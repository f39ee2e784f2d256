import { Problem } from '@flotilla/protocol/problem'
import { heldJob, isLocked } from '../../inbound/src/triggers/heartbeat/heartbeat-jobs.ts'
import type { HeartbeatJob, HeartbeatJobs } from '../../inbound/src/triggers/heartbeat/heartbeat-jobs.ts'

export interface FakeHeartbeatJobs extends HeartbeatJobs {
  /** The stored jobs; a test that changes them simulates an edit of the file. */
  readonly jobs: Map<string, HeartbeatJob>
  isBroken: boolean
}

/** Jobs in memory, for tests. */
export function createFakeHeartbeatJobs(): FakeHeartbeatJobs {
  const jobs = new Map<string, HeartbeatJob>()
  const requireWhole = (): void => {
    if (fake.isBroken) throw new Problem('unprocessable', { detail: 'the test has broken what is kept' })
  }
  const fake: FakeHeartbeatJobs = {
    jobs,
    isBroken: false,
    find: async (agentId) => jobs.get(agentId) ?? null,
    put: async (job) => {
      const held = heldJob(job)
      if (held.schedule !== job.schedule || held.enabled !== job.enabled) throw locked()
      requireWhole()
      jobs.set(job.agentId, job)
    },
    remove: async (agentId) => {
      if (isLocked(agentId)) throw locked()
      requireWhole()
      jobs.delete(agentId)
    },
  }
  return fake
}

function locked(): Problem {
  return new Problem('bad-request', { detail: "the operator's heartbeat is locked" })
}
