import type { FastifyInstance } from 'fastify'
import { chatSessionApi as api, chatSessionEndpoints as endpoints } from '@flotilla/protocol/chat-session-api'
import type { ChatSessionUseCases } from './delivery/chat-sessions.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

export function chatSessionRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: ChatSessionUseCases },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })

  bind(endpoints.chatSessions, api.chatSessions, async ({ raw, params }) =>
    use.sessions(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.chatHistory, api.chatHistory, async ({ raw, params, query }) =>
    use.history(gate(raw), params['id'] ?? '', query),
  )
  bind(endpoints.chatReset, api.chatReset, async ({ raw, params, body }) =>
    use.reset(gate(raw), params['id'] ?? '', body.session),
  )
}
