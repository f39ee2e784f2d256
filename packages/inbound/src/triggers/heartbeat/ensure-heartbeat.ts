import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { Log } from '@flotilla/foundation/platform'
import { heldJob } from './heartbeat-jobs.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

/** The heartbeat that the creator of an agent requests: a schedule, null to disable it, undefined for no request. */
type WantedHeartbeat = string | null | undefined

/**
 * Writes the heartbeat of an agent that has no heartbeat job. A worker's heartbeat is off unless a
 * schedule is given, because it spends money; the operator's is the fixed one. Idempotent: an
 * existing job stays as its owner set it. Rejects as the port does.
 */
type EnsureHeartbeat = (agentId: string, requested?: WantedHeartbeat) => Promise<void>

export function createEnsureHeartbeat({ jobs }: { readonly jobs: HeartbeatJobs }): EnsureHeartbeat {
  return async (agentId, requested) => {
    const found = await jobs.find(agentId)
    const current = found ?? {
      agentId,
      schedule: requested ?? defaultHeartbeatSchedule,
      enabled: typeof requested === 'string',
    }
    const held = heldJob(current)
    if (found?.schedule === held.schedule && found.enabled === held.enabled) return
    await jobs.put(held)
  }
}

/**
 * Returns a function that writes the heartbeat of an agent before it is created. A repeated call writes the same; an
 * existing job belongs to an agent whose creation failed. Rejects only if a request (a schedule or null) cannot be
 * written. If the default cannot be written, the next start of the mesh adds it.
 */
export function createPlanHeartbeat({ jobs, log }: { readonly jobs: HeartbeatJobs; readonly log: Log }) {
  return async (agentId: string, requested: WantedHeartbeat): Promise<void> => {
    const schedule = requested ?? defaultHeartbeatSchedule
    try {
      await jobs.put(heldJob({ agentId, schedule, enabled: typeof requested === 'string' }))
    } catch (error) {
      if (requested !== undefined) throw error
      log.error(
        { agentId, err: error },
        'created an agent without its heartbeat; the next start of the mesh adds the default',
      )
    }
  }
}
