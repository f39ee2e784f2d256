import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { eventsDroppedSchema, fleetEventSchema } from './fleet-event.ts'

/** The people's API: the pages of the dashboard, their files, and data that only they request. */
export const dashboardPageEndpoints = {
  home: { method: 'GET', path: '/', summary: 'The dashboard' },
  chat: { method: 'GET', path: '/chat', summary: 'Page: conversations' },
  chatAgent: { method: 'GET', path: '/chat/{agent}', summary: 'Page: conversations with one agent' },
  fleet: { method: 'GET', path: '/fleet', summary: 'Page: all agents' },
  agent: { method: 'GET', path: '/agents/{id}', summary: 'Page: one agent' },
  runs: { method: 'GET', path: '/runs', summary: 'Page: runs' },
  run: { method: 'GET', path: '/runs/{id}', summary: 'Page: one run' },
  work: { method: 'GET', path: '/work', summary: 'Page: tasks on a board' },
  workView: { method: 'GET', path: '/work/{view}', summary: 'Page: projects, goals, artifacts or feedback' },
  workItem: { method: 'GET', path: '/work/{view}/{item}', summary: 'Page: one task or project' },
  blackboard: { method: 'GET', path: '/blackboard', summary: 'Page: what agents share' },
  blackboardView: {
    method: 'GET',
    path: '/blackboard/{view}',
    summary: 'Page: topics, or who is told of what',
  },
  approvals: { method: 'GET', path: '/approvals', summary: 'Page: what waits for a person' },
  costs: { method: 'GET', path: '/costs', summary: 'Page: spend and budgets' },
  triggers: { method: 'GET', path: '/triggers', summary: 'Page: what starts work by itself' },
  wallet: { method: 'GET', path: '/wallet', summary: 'Page: the wallet, and what agents pay from it' },
  journal: { method: 'GET', path: '/journal', summary: 'Page: the record of decisions and effects' },
  settings: { method: 'GET', path: '/settings', summary: 'Page: what the owner sets up' },
  settingsPart: {
    method: 'GET',
    path: '/settings/{part}',
    summary: 'Page: one part of what the owner sets up',
  },
  welcome: { method: 'GET', path: '/welcome', summary: 'Page: the first run' },
  design: { method: 'GET', path: '/design', summary: 'Page: the parts that pages are made of' },
} as const satisfies Record<string, Endpoint>

export const dashboardEndpoints = {
  dashboardAsset: { method: 'GET', path: '/assets/{name}', summary: 'A file of the dashboard' },
  eventSocket: {
    method: 'GET',
    path: '/ws/events',
    summary: 'Fleet events over a WebSocket, from a sequence number',
  },
  runEvents: {
    method: 'GET',
    path: '/api/runs/{id}/events',
    summary: 'What is still kept of the events of one run, oldest first',
  },
} as const satisfies Record<string, Endpoint>

/** The maximum number of events of one run in one reply. */
export const runEventsMax = 500

/** A message of the socket. `alive` is sent during silence; its `seq` is 0 until all stored events were sent. */
export const eventFrameSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('event'), event: fleetEventSchema }),
  z.strictObject({ type: z.literal('dropped'), dropped: eventsDroppedSchema }),
  z.strictObject({ type: z.literal('alive'), seq: z.int() }),
])
export type EventFrame = z.infer<typeof eventFrameSchema>

export const dashboardApi = {
  dashboardAsset: {},
  /** A negative number requests that many of the newest stored events. */
  eventSocket: { query: z.strictObject({ since: z._default(z.coerce.number(), 0) }) },
  runEvents: {
    response: z.strictObject({
      events: z.array(fleetEventSchema),
      /** Whether the run has more events than this reply shows. */
      more: z.boolean(),
      /** Whether older events of the fleet, possibly of this run too, were deleted. */
      forgotten: z.boolean(),
    }),
  },
} as const satisfies Record<keyof typeof dashboardEndpoints, EndpointSchemas>
