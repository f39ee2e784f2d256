import type { HeartbeatView } from '@flotilla/protocol/heartbeat-api'
import { operatorApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { AgentSurface } from '@flotilla/identity/http'
import type { ManageHeartbeats } from './manage-heartbeats.ts'

export function heartbeatOperatorRoutes({ bind }: AgentSurface, heartbeats: ManageHeartbeats): void {
  bind(endpoints.agentHeartbeat, api.agentHeartbeat, ({ caller, params: { id }, body, effect }) =>
    effect({ heartbeat: id, body }).resumable<HeartbeatView>((step) =>
      heartbeats.set(caller, id, body.schedule, step),
    ),
  )
}
