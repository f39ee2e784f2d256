import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { Ledger } from './ledger.ts'
import { steerView } from './steering/steer-view.ts'

export function runAgentRoutes(
  { bind }: AgentSurface,
  { lifecycle, steering }: Pick<Ledger, 'lifecycle' | 'steering'>,
): void {
  bind(endpoints.lease, api.lease, ({ caller: { run } }) => ({
    lease_until: run ? lifecycle.lease.heartbeat(run) : 0,
  }))
  bind(endpoints.steer, api.steer, ({ caller, params, body, effect }) => {
    const { local, key } = effect({ id: params.id, body })
    return local(() =>
      steerView(steering.steerRun(caller, { agentId: params.id, text: body.text, idempotencyKey: key })),
    )
  })
  // Repeating this call changes nothing, so the call needs no idempotency key.
  bind(endpoints.steersTaken, api.steersTaken, ({ caller, body }) => ({
    taken: steering.takeSteers(caller, body),
  }))
}
