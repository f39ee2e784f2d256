import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { Log } from '../../platform/log.ts'
import type { WantedHeartbeat } from './ensure-heartbeat.ts'
import { heldJob } from './held-job.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

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
        'an agent has no heartbeat until the next start gives it the default',
      )
    }
  }
}
