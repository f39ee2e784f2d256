import * as z from 'zod/mini'
import {
  chatHistorySchema,
  chatResetReplySchema,
  chatSessionsSchema,
  historyQuerySchema,
  sessionNameSchema,
  terminalSession,
} from './chat-history.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** Part of the people's API: the conversations that an agent remembers. */
export const chatSessionEndpoints = {
  chatSessions: {
    method: 'GET',
    path: '/api/agents/{id}/chat/sessions',
    summary: 'List an agent’s stored conversations, newest first.',
  },
  chatHistory: {
    method: 'GET',
    path: '/api/agents/{id}/chat/history',
    summary: 'Return one conversation as its agent stores it.',
  },
  chatReset: {
    method: 'POST',
    path: '/api/agents/{id}/chat/reset',
    summary: 'Archive a conversation and start it empty.',
  },
} as const satisfies Record<string, Endpoint>

export const chatSessionApi = {
  chatSessions: { response: chatSessionsSchema },
  chatHistory: { query: historyQuerySchema, response: chatHistorySchema },
  chatReset: {
    request: z.strictObject({ session: z._default(sessionNameSchema, terminalSession) }),
    response: chatResetReplySchema,
  },
} as const satisfies Record<keyof typeof chatSessionEndpoints, EndpointSchemas>
