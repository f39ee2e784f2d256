import type { HeartbeatJob, HeartbeatJobs } from './heartbeat-jobs.ts'

/** Jobs in memory, for tests. */
export function createFakeHeartbeatJobs(): HeartbeatJobs & { readonly jobs: Map<string, HeartbeatJob> } {
  const jobs = new Map<string, HeartbeatJob>()
  return {
    jobs,
    find: async (agentId) => jobs.get(agentId) ?? null,
    put: async (job) => void jobs.set(job.agentId, job),
    remove: async (agentId) => void jobs.delete(agentId),
  }
}
