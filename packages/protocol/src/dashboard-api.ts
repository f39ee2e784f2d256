import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { eventsDroppedSchema, fleetEventSchema } from './fleet-event.ts'

/** The people's API: the pages of the dashboard, their files, and data that only they request. */
export const dashboardPageEndpoints = {
  home: { method: 'GET', path: '/', summary: 'Show the dashboard.' },
  chat: { method: 'GET', path: '/chat', summary: 'Show the page of conversations.' },
  chatAgent: {
    method: 'GET',
    path: '/chat/{agent}',
    summary: 'Show the page of conversations with one agent.',
  },
  fleet: { method: 'GET', path: '/fleet', summary: 'Show the page of all agents.' },
  agent: { method: 'GET', path: '/agents/{id}', summary: 'Show the page of one agent.' },
  runs: { method: 'GET', path: '/runs', summary: 'Show the page of runs.' },
  run: { method: 'GET', path: '/runs/{id}', summary: 'Show the page of one run.' },
  work: { method: 'GET', path: '/work', summary: 'Show the page of tasks, as a board.' },
  workView: {
    method: 'GET',
    path: '/work/{view}',
    summary: 'Show the page of projects, goals, artifacts or feedback.',
  },
  workItem: { method: 'GET', path: '/work/{view}/{item}', summary: 'Show the page of one task or project.' },
  blackboard: { method: 'GET', path: '/blackboard', summary: 'Show the page of the blackboard.' },
  blackboardView: {
    method: 'GET',
    path: '/blackboard/{view}',
    summary: 'Show the page of topics, or of blackboard notifications.',
  },
  approvals: {
    method: 'GET',
    path: '/approvals',
    summary: 'Show the page of actions that wait for approval.',
  },
  approval: {
    method: 'GET',
    path: '/approvals/{id}',
    summary: 'Show the page of one action that waits for approval.',
  },
  policy: { method: 'GET', path: '/policy', summary: 'Show the page of policy rules.' },
  costs: { method: 'GET', path: '/costs', summary: 'Show the page of spend and budgets.' },
  triggers: { method: 'GET', path: '/triggers', summary: 'Show the page of triggers.' },
  wallet: { method: 'GET', path: '/wallet', summary: 'Show the page of the wallet and of agents’ payments.' },
  journal: { method: 'GET', path: '/journal', summary: 'Show the page of the audit log.' },
  settings: { method: 'GET', path: '/settings', summary: 'Show the page of settings.' },
  settingsPart: {
    method: 'GET',
    path: '/settings/{part}',
    summary: 'Show the page of one group of settings.',
  },
  welcome: { method: 'GET', path: '/welcome', summary: 'Show the page of the first set-up.' },
  design: { method: 'GET', path: '/design', summary: 'Show the page of the dashboard’s components.' },
} as const satisfies Record<string, Endpoint>

export const dashboardEndpoints = {
  dashboardAsset: { method: 'GET', path: '/assets/{name}', summary: 'Return a file of the dashboard.' },
  eventSocket: {
    method: 'GET',
    path: '/ws/events',
    summary: 'Stream fleet events over a WebSocket, from a sequence number.',
  },
  runEvents: {
    method: 'GET',
    path: '/api/runs/{id}/events',
    summary: 'List the stored events of one run, oldest first.',
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
    /** With `only`, events of that type. */
    query: z.strictObject({ only: z.optional(z.literal('files.changed')) }),
    response: z.strictObject({
      events: z.array(fleetEventSchema),
      /** Whether the run has more events than this reply shows. */
      more: z.boolean(),
      /** Whether older events of the fleet, possibly of this run too, were deleted. */
      forgotten: z.boolean(),
    }),
  },
} as const satisfies Record<keyof typeof dashboardEndpoints, EndpointSchemas>
