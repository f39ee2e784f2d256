import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '../../journal/journal.ts'
import type { Guard } from '../../access/action.ts'
import { actorOf } from '../../access/caller.ts'
import type { Caller } from '../../access/caller.ts'
import { isLocked } from './held-job.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'

/**
 * How often an agent looks around by itself; null for not at all. Problems `denied`, `unknown-agent`,
 * `unprocessable` for the operator, and those of the port.
 */
export type SetHeartbeat = (caller: Caller, agentId: string, schedule: string | null) => Promise<void>

export function createSetHeartbeat(deps: {
  readonly jobs: HeartbeatJobs
  readonly guard: Guard
  readonly journal: Journal
  /** Problem `unknown-agent`. */
  readonly requireAgent: (agentId: string) => void
}): SetHeartbeat {
  return async (caller, agentId, schedule) => {
    deps.guard(caller, { do: 'edit-agent-config', agentId })
    deps.requireAgent(agentId)
    const before = await deps.jobs.find(agentId)
    if (isLocked(agentId)) {
      if (schedule === defaultHeartbeatSchedule) return
      throw new Problem('unprocessable', {
        detail: `the operator looks around ${defaultHeartbeatSchedule}, and nobody changes that; flotilla pause operator holds it`,
      })
    }
    const kept = schedule ?? before?.schedule ?? defaultHeartbeatSchedule
    await deps.jobs.put({ agentId, schedule: kept, enabled: schedule !== null })
    deps.journal.append({
      actor: actorOf(caller),
      action: 'heartbeat.set',
      subject: agentId,
      detail: { before: before?.enabled === true ? before.schedule : null, after: schedule },
    })
  }
}
