import { messageAgentApi as api } from '@flotilla/protocol/message-api'
import { messageAgentEndpoints as endpoints } from '@flotilla/protocol/message-endpoints'
import type { AgentSurface } from '@flotilla/identity/http'
import { sentView } from './messages.ts'
import type { Messages } from './messages.ts'

export function messageAgentRoutes({ bind }: AgentSurface, messages: Messages): void {
  bind(endpoints.messageSend, api.messageSend, ({ caller, body, effect }) => {
    const { key, local } = effect(body)
    return local(() => sentView(messages.send(caller, { ...body, idempotencyKey: key })))
  })
  // A repeated call changes nothing, so this route needs no idempotency key.
  bind(endpoints.messageAwait, api.messageAwait, async ({ caller, params, body, gone }) =>
    sentView(await messages.awaitAnswer(caller, { id: params.id, waitSeconds: body.wait_seconds }, gone())),
  )
  bind(endpoints.capabilitiesDeclare, api.capabilitiesDeclare, ({ caller, body }) => ({
    capabilities: messages.declare(caller, body.capabilities),
  }))
}
