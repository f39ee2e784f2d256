import { messageHumanApi as api } from '@flotilla/protocol/message-api'
import { messageHumanEndpoints as endpoints } from '@flotilla/protocol/message-endpoints'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Messages } from './messages.ts'

export function messagePeopleRoutes({ bind }: PeopleSurface, messages: Messages): void {
  bind(endpoints.messages, api.messages, ({ caller, query: { agent: agentId, limit } }) => ({
    messages: messages.list(caller, { agentId, limit }),
  }))
}
