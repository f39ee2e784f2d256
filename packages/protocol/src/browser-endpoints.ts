import type { Endpoint } from './endpoint.ts'

/** Plain values; the schemas are in `browser-api.ts`, so that an agent need not load them. */
export const browserAgentEndpoints = {
  browserAct: {
    method: 'POST',
    path: '/mesh/browser/{action}',
    summary: 'Does one thing in the browser of the caller',
  },
} as const satisfies Record<string, Endpoint>

export const browserHumanEndpoints = {
  browsers: { method: 'GET', path: '/api/browsers', summary: 'The browsers of agents, and what they show' },
  browserPicture: {
    method: 'GET',
    path: '/api/agents/{id}/browser/picture',
    summary: 'What the browser of an agent shows now, as a picture',
  },
  browserClose: {
    method: 'POST',
    path: '/api/agents/{id}/browser/close',
    summary: 'Closes the browser of an agent; its tabs come back with its next use',
  },
  browserTakeOver: {
    method: 'POST',
    path: '/api/agents/{id}/browser/take-over',
    summary: 'Gives mouse and keys to a person; the agent waits',
  },
  browserGiveBack: {
    method: 'POST',
    path: '/api/agents/{id}/browser/give-back',
    summary: 'Gives the browser back to its agent, which goes on',
  },
} as const satisfies Record<string, Endpoint>

/** Page, files and WebSocket of the screen; requests with other methods are not found. */
export const screenEndpoints = {
  screen: {
    method: 'GET',
    path: '/agent-vnc/{agent}/{*path}',
    summary: 'The screen of an agent’s browser: noVNC and its WebSocket',
  },
  screenPost: { method: 'POST', path: '/agent-vnc/{agent}/{*path}', summary: 'Nothing is there' },
  screenPut: { method: 'PUT', path: '/agent-vnc/{agent}/{*path}', summary: 'Nothing is there' },
  screenPatch: { method: 'PATCH', path: '/agent-vnc/{agent}/{*path}', summary: 'Nothing is there' },
  screenDelete: { method: 'DELETE', path: '/agent-vnc/{agent}/{*path}', summary: 'Nothing is there' },
} as const satisfies Record<string, Endpoint>

/** The path of the page on which a person sees the screen. */
export function screenPath(agentId: string): string {
  return `/agent-vnc/${encodeURIComponent(agentId)}/`
}
