import { chatSessionApi, chatSessionEndpoints } from '@flotilla/protocol/chat-session-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { ChatSessions } from './delivery/chat-sessions.ts'

export function chatSessionRoutes({ bind }: PeopleSurface, sessions: ChatSessions): void {
  const [paths, schemas] = [chatSessionEndpoints, chatSessionApi]
  bind(paths.chatSessions, schemas.chatSessions, ({ caller, params }) => sessions.list(caller, params.id))
  bind(paths.chatHistory, schemas.chatHistory, ({ caller, params, query }) =>
    sessions.history(caller, params.id, query),
  )
  bind(paths.chatReset, schemas.chatReset, ({ caller, params, body }) =>
    sessions.reset(caller, params.id, body.session),
  )
}
