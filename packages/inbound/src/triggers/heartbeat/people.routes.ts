import { heartbeatApi as api, heartbeatEndpoints as endpoints } from '@flotilla/protocol/heartbeat-api'
import { keptAliveReply } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import { awaitOutcome } from '@flotilla/work/runs'
import type { RunOutcomes } from '@flotilla/work/runs'
import type { ManageHeartbeats } from './manage-heartbeats.ts'

export function heartbeatPeopleRoutes(
  { bind, keepAliveMs }: PeopleSurface,
  { heartbeats, outcomes }: { readonly heartbeats: ManageHeartbeats; readonly outcomes: RunOutcomes },
): void {
  bind(endpoints.heartbeats, api.heartbeats, async ({ caller }) => ({
    heartbeats: await heartbeats.list(caller),
  }))
  bind(endpoints.heartbeatRun, api.heartbeatRun, async ({ caller, params, body, reply }) => {
    const end = await heartbeats.runNow(caller, params.id, { ifNeeded: body.if_needed })
    if ('skipped' in end) return { skipped: end.skipped, run: null }
    const runId = end.fired.id
    const ended = async () => ({
      skipped: null,
      run: await awaitOutcome(outcomes, { runId, caller }, reply),
    })
    return keptAliveReply(reply, keepAliveMs, ended())
  })
  bind(endpoints.heartbeatSet, api.heartbeatSet, ({ caller, params, body }) =>
    heartbeats.set(caller, params.id, body.schedule),
  )
}
