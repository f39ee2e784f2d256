import type { HeartbeatView } from '@flotilla/protocol/heartbeat-api'
import type { Guard } from '../../access/action.ts'
import type { Caller } from '../../access/caller.ts'
import { heldJob, isLocked } from './held-job.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'
import type { HeartbeatTable } from './heartbeat-table.ts'

/** When each agent looks around by itself, and what became of the last time. Problem `denied`. */
export function createListHeartbeats(deps: {
  readonly guard: Guard
  readonly jobs: HeartbeatJobs
  readonly table: HeartbeatTable
  readonly agentIds: () => readonly string[]
  readonly isArchived: (agentId: string) => boolean
}): (caller: Caller) => Promise<readonly HeartbeatView[]> {
  return async (caller) => {
    deps.guard(caller, { do: 'view-fleet' })
    return Promise.all(
      deps.agentIds().map(async (agentId): Promise<HeartbeatView> => {
        const found = await deps.jobs.find(agentId)
        const job = found && heldJob(found)
        const last = deps.table.lastOf(agentId)
        return {
          agent_id: agentId,
          schedule: job?.enabled === true ? job.schedule : null,
          locked: isLocked(agentId),
          archived: deps.isArchived(agentId),
          last: last && {
            at: last.at,
            manual: last.manual,
            skipped: last.skipped,
            run_id: last.run_id,
            rules_left_out: last.rules_left_out,
          },
        }
      }),
    )
  }
}
