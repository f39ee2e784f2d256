import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { Log } from '../../platform/index.ts'
import { heldJob } from './heartbeat-jobs.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

/** What whoever made an agent wants of its heartbeat: a schedule, null for none; left out for the default. */
type WantedHeartbeat = string | null | undefined

/**
 * Gives an agent its heartbeat where it has none, and the operator the one that it must have. Idempotent: a job that
 * is there stays as its owner left it, also one that is off. Rejects as the port does.
 */
type EnsureHeartbeat = (agentId: string, wanted?: WantedHeartbeat) => Promise<void>

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

/**
 * Writes the heartbeat of an agent that is about to be made. Said again it writes the same; a job that stands there
 * is of one that never came to be. Rejects where what was asked for cannot be written: the default, which comes at
 * the next start, would wake an agent that is to have none. Where the default was asked for, that is soon enough.
 */
export function createPlanHeartbeat({ jobs, log }: { readonly jobs: HeartbeatJobs; readonly log: Log }) {
  return async (agentId: string, wanted: WantedHeartbeat): Promise<void> => {
    const schedule = wanted ?? defaultHeartbeatSchedule
    try {
      await jobs.put(heldJob({ agentId, schedule, enabled: wanted !== null }))
    } catch (error) {
      if (wanted !== undefined) throw error
      log.error(
        { agentId, err: error },
        'agent is made without its heartbeat; the next start of the mesh gives it the default',
      )
    }
  }
}
