import type { Endpoint } from './endpoint.ts'

/**
 * Messages between agents, and declared capabilities. Plain values; the schemas are in `message-api.ts`, so that an
 * agent without messages need not load them.
 */
export const messageAgentEndpoints = {
  messageSend: {
    method: 'POST',
    path: '/mesh/messages',
    summary: 'Asks another agent something, by its id or by what it can; never waits for the answer',
  },
  messageAwait: {
    method: 'POST',
    path: '/mesh/messages/{id}/await',
    summary: 'Waits a while for the answer to a message of the run in the headers',
  },
  capabilitiesDeclare: {
    method: 'PUT',
    path: '/mesh/capabilities',
    summary: 'What the caller can, in the place of what it declared before',
  },
} as const satisfies Record<string, Endpoint>

export type MessageAgentEndpointName = keyof typeof messageAgentEndpoints

/** The people's API of these messages. */
export const messageHumanEndpoints = {
  messages: { method: 'GET', path: '/api/messages', summary: 'What agents asked each other, newest first' },
} as const satisfies Record<string, Endpoint>

export type MessageHumanEndpointName = keyof typeof messageHumanEndpoints
