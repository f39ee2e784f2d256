import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { Notes } from './notes.ts'

export function noteAgentRoutes({ bind }: AgentSurface, notes: Notes): void {
  bind(endpoints.notify, api.notify, ({ caller, body, effect }) => {
    const { key, local } = effect(body)
    return local(() => ({
      note_id: notes.notifyOwner(caller, { message: body.message, idempotencyKey: key }).id,
    }))
  })
}
