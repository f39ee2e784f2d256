import { noSuchAgent } from '@flotilla/protocol/no-such-agent'
import type { Clock } from '@flotilla/protocol/clock'
import type { HeartbeatView } from '@flotilla/protocol/heartbeat-api'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import * as z from 'zod'
import { onceOnly } from '@flotilla/foundation/storage'
import type { Database, Resumable } from '@flotilla/foundation/storage'
import type { Journal } from '@flotilla/foundation/journal'
import type { FireHeartbeat, HeartbeatEnd } from './fire-heartbeat.ts'
import { heldJob, isLocked } from './heartbeat-jobs.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'
import type { HeartbeatTable } from './heartbeat-table.ts'

/** The schedule before a change, which is stored in case the change is interrupted. */
const beforeSchema = z.object({ before: z.string().nullable() })

/** Operations of people on heartbeats. */
export interface ManageHeartbeats {
  readonly list: ListHeartbeats
  readonly runNow: RunHeartbeatNow
  /** Sets the schedule as `SetHeartbeat` does and resolves with the effective heartbeat. */
  set(
    caller: Caller,
    agentId: string,
    schedule: string | null,
    step?: Resumable<HeartbeatView>,
  ): Promise<HeartbeatView>
}

export function createManageHeartbeats(
  deps: Parameters<typeof createListHeartbeats>[0] &
    Parameters<typeof createRunHeartbeatNow>[0] &
    Parameters<typeof createSetHeartbeat>[0] & { readonly database: Database },
): ManageHeartbeats {
  const list = createListHeartbeats(deps)
  const set = createSetHeartbeat(deps)
  return {
    list,
    runNow: createRunHeartbeatNow(deps),
    set: async (...[caller, agentId, schedule, step = onceOnly<HeartbeatView>(deps.database)]) => {
      const record = await set(caller, { agentId, schedule }, step)
      const view = (await list(caller)).find((one) => one.agent_id === agentId)
      if (!view) throw noSuchAgent(agentId, deps.agentIds())
      return step.settle(() => {
        record()
        return view
      })
    },
  }
}

/** Returns the schedule of each agent's heartbeat and its last result. Throws Problem `denied`. */
export type ListHeartbeats = (caller: Caller) => Promise<readonly HeartbeatView[]>

function createListHeartbeats(deps: {
  readonly guard: Guard
  readonly jobs: HeartbeatJobs
  readonly table: HeartbeatTable
  readonly agentIds: () => readonly string[]
  readonly isArchived: (agentId: string) => boolean
}): ListHeartbeats {
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
            facts: last.facts,
          },
        }
      }),
    )
  }
}

/**
 * Runs a heartbeat that a person requests. It always runs, unless `ifNeeded` asks for the normal
 * decision. Throws the Problems `denied` and those of `FireHeartbeat`.
 */
export type RunHeartbeatNow = (
  caller: Caller,
  agentId: string,
  options: { readonly ifNeeded: boolean },
) => Promise<HeartbeatEnd>

function createRunHeartbeatNow(deps: {
  readonly guard: Guard
  readonly fire: FireHeartbeat
  readonly clock: Clock
}): RunHeartbeatNow {
  return async (caller, agentId, { ifNeeded }) => {
    deps.guard(caller, { do: 'submit-run', to: agentId })
    const now = { jobId: null, dueAt: deps.clock.now() }
    return deps.fire(
      agentId,
      ifNeeded ? { ...now, manual: false } : { ...now, manual: true, askedBy: caller },
    )
  }
}

/**
 * Sets the schedule of an agent's heartbeat; null disables it. Resolves with a function that records the change.
 * Throws the Problems `denied`, `unknown-agent`, `unprocessable` for the operator, and those of the port.
 */
export type SetHeartbeat = (
  caller: Caller,
  setting: { readonly agentId: string; readonly schedule: string | null },
  step: Pick<Resumable<HeartbeatView>, 'begun' | 'begin'>,
) => Promise<() => void>

export function createSetHeartbeat(deps: {
  readonly jobs: HeartbeatJobs
  readonly guard: Guard
  readonly journal: Journal
  /** Throws Problem `unknown-agent`. */
  readonly requireAgent: (agentId: string) => void
}): SetHeartbeat {
  return async (caller, { agentId, schedule }, step) => {
    deps.guard(caller, { do: 'edit-agent-config', agentId })
    deps.requireAgent(agentId)
    const before = await deps.jobs.find(agentId)
    if (isLocked(agentId)) {
      if (schedule === defaultHeartbeatSchedule) return () => {}
      throw new Problem('unprocessable', {
        detail: `the heartbeat of the operator always runs ${defaultHeartbeatSchedule}; to hold it use flotilla pause operator`,
      })
    }
    const begun = beforeSchema.safeParse(step.begun)
    const earlier = begun.success ? begun.data.before : before?.enabled === true ? before.schedule : null
    if (!begun.success) step.begin({ before: earlier })
    const kept = schedule ?? before?.schedule ?? defaultHeartbeatSchedule
    await deps.jobs.put({ agentId, schedule: kept, enabled: schedule !== null })
    return () =>
      deps.journal.append({
        actor: actorOf(caller),
        action: 'heartbeat.set',
        subject: agentId,
        detail: { before: earlier, after: schedule },
      })
  }
}
