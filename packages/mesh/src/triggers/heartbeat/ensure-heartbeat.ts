import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { heldJob } from './held-job.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

/** What whoever made an agent wants of its heartbeat: a schedule, null for none; left out for the default. */
export type WantedHeartbeat = string | null | undefined

/**
 * Gives an agent its heartbeat where it has none, and the operator the one that it must have. Idempotent: a job that
 * is there stays as its owner left it, also one that is off. Rejects as the port does.
 */
export type EnsureHeartbeat = (agentId: string, wanted?: WantedHeartbeat) => Promise<void>

export function createEnsureHeartbeat({ jobs }: { readonly jobs: HeartbeatJobs }): EnsureHeartbeat {
  return async (agentId, wanted) => {
    const found = await jobs.find(agentId)
    const asked = found ?? {
      agentId,
      schedule: wanted ?? defaultHeartbeatSchedule,
      enabled: wanted !== null,
    }
    const held = heldJob(asked)
    if (found?.schedule === held.schedule && found.enabled === held.enabled) return
    await jobs.put(held)
  }
}
