import type { Endpoint } from './endpoint.ts'

/** Plain values; the schemas are in `browser-api.ts`, so that an agent need not load them. */
export const browserAgentEndpoints = {
  browserAct: {
    method: 'POST',
    path: '/mesh/browser/{action}',
    summary: 'Carry out one action in the calling agent’s browser.',
  },
} as const satisfies Record<string, Endpoint>

export const browserHumanEndpoints = {
  browsers: {
    method: 'GET',
    path: '/api/browsers',
    summary: 'List the agents’ browsers and the page that each shows.',
  },
  browserPicture: {
    method: 'GET',
    path: '/api/agents/{id}/browser/picture',
    summary: 'Return a screenshot of an agent’s browser.',
  },
  browserClose: {
    method: 'POST',
    path: '/api/agents/{id}/browser/close',
    summary: 'Close an agent’s browser. Its next use opens the same tabs again.',
  },
  browserTakeOver: {
    method: 'POST',
    path: '/api/agents/{id}/browser/take-over',
    summary: 'Give the caller mouse and keyboard of an agent’s browser. The agent waits.',
  },
  browserGiveBack: {
    method: 'POST',
    path: '/api/agents/{id}/browser/give-back',
    summary: 'Return control of the browser to its agent, which continues.',
  },
} as const satisfies Record<string, Endpoint>

/** Page, files and WebSocket of the screen; requests with other methods are not found. */
export const screenEndpoints = {
  screen: {
    method: 'GET',
    path: '/agent-vnc/{agent}/{*path}',
    summary: 'Show the screen of an agent’s browser: the noVNC page and its WebSocket.',
  },
  screenPost: {
    method: 'POST',
    path: '/agent-vnc/{agent}/{*path}',
    summary: 'Answer 404: the screen has no such method.',
  },
  screenPut: {
    method: 'PUT',
    path: '/agent-vnc/{agent}/{*path}',
    summary: 'Answer 404: the screen has no such method.',
  },
  screenPatch: {
    method: 'PATCH',
    path: '/agent-vnc/{agent}/{*path}',
    summary: 'Answer 404: the screen has no such method.',
  },
  screenDelete: {
    method: 'DELETE',
    path: '/agent-vnc/{agent}/{*path}',
    summary: 'Answer 404: the screen has no such method.',
  },
} as const satisfies Record<string, Endpoint>

/** The path of the page on which a person sees the screen. */
export function screenPath(agentId: string): string {
  return `/agent-vnc/${encodeURIComponent(agentId)}/`
}
