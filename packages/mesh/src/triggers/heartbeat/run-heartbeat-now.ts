import type { Clock } from '@flotilla/protocol/clock'
import type { Guard } from '../../access/action.ts'
import type { Caller } from '../../access/caller.ts'
import type { FireHeartbeat, HeartbeatEnd } from './fire-heartbeat.ts'

/**
 * A heartbeat that a person asks for: it always runs, unless they want it only where it is needed, as if it were due.
 * Problems `denied`, and those of `FireHeartbeat`.
 */
export type RunHeartbeatNow = (
  caller: Caller,
  agentId: string,
  asked: { readonly ifNeeded: boolean },
) => Promise<HeartbeatEnd>

export function createRunHeartbeatNow(deps: {
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
