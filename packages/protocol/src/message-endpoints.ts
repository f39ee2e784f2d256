import type { Endpoint } from './endpoint.ts'

/**
 * Messages between agents, and declared capabilities. Plain values; the schemas are in `message-api.ts`, so that an
 * agent without messages need not load them.
 */
export const messageAgentEndpoints = {
  messageSend: {
    method: 'POST',
    path: '/mesh/messages',
    summary: 'Ask another agent, by id or by capability. The answer comes before the reply.',
  },
  messageAwait: {
    method: 'POST',
    path: '/mesh/messages/{id}/await',
    summary: 'Wait for a limited time for the reply to a message of the run in the headers.',
  },
  capabilitiesDeclare: {
    method: 'PUT',
    path: '/mesh/capabilities',
    summary: 'Replace the declared capabilities of the calling agent.',
  },
} as const satisfies Record<string, Endpoint>

export type MessageAgentEndpointName = keyof typeof messageAgentEndpoints

/** The people's API of these messages. */
export const messageHumanEndpoints = {
  messages: { method: 'GET', path: '/api/messages', summary: 'List messages between agents, newest first.' },
} as const satisfies Record<string, Endpoint>

export type MessageHumanEndpointName = keyof typeof messageHumanEndpoints
