import { operatorApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { AgentSurface } from '@flotilla/identity/http'
import type { Messages } from './messages.ts'

export function messageOperatorRoutes({ bind }: AgentSurface, messages: Messages): void {
  bind(endpoints.messages, api.messages, ({ caller, query: { agent: agentId, limit } }) => ({
    messages: messages.list(caller, { agentId, limit }),
  }))
}
