import { pauseApi as api, pauseEndpoints as endpoints } from '@flotilla/protocol/pause-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Pauses } from './pauses.ts'

/** The default reason of a pause. */
const noReason = 'paused by its owner'

export function pausePeopleRoutes({ bind }: PeopleSurface, pauses: Pauses): void {
  bind(endpoints.pauses, api.pauses, ({ caller }) => ({ pauses: pauses.list(caller) }))
  bind(endpoints.pause, api.pause, ({ caller, body }) =>
    pauses.pause(caller, { agentId: body.agent_id, reason: body.reason.trim() || noReason, now: body.now }),
  )
  bind(endpoints.resume, api.resume, ({ caller, body }) => pauses.resume(caller, body.agent_id))
}
