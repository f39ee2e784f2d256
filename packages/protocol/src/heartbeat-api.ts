import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { runViewSchema } from './run.ts'

/** The people's API: heartbeats. */
export const heartbeatEndpoints = {
  heartbeats: {
    method: 'GET',
    path: '/api/heartbeats',
    summary: 'List each agent’s heartbeat schedule with the result of the last heartbeat.',
  },
  heartbeatRun: {
    method: 'POST',
    path: '/api/agents/{id}/heartbeat',
    summary: 'Run an agent’s heartbeat now, or decide on it as if it were due, and return its outcome.',
  },
  heartbeatSet: {
    method: 'PUT',
    path: '/api/agents/{id}/heartbeat',
    summary: 'Set the interval of an agent’s heartbeat, or disable it.',
  },
} as const satisfies Record<string, Endpoint>

export type HeartbeatEndpointName = keyof typeof heartbeatEndpoints

/** `every 30m`; between a minute and a week. */
export const heartbeatScheduleSchema = z.string().check(
  z.regex(/^every [1-9]\d{0,4}[mhd]$/, 'a heartbeat is like "every 15m", "every 2h" or "every 1d"'),
  z.refine((text) => minutesOf(text) <= 7 * 24 * 60, 'a heartbeat is at most a week apart'),
)

/** Minutes between two heartbeats; `schedule` must have the valid form. Pure. */
export function minutesOf(schedule: string): number {
  const [, count = '0', unit = 'm'] = /^every (\d+)([mhd])$/.exec(schedule) ?? []
  return Number(count) * ({ m: 1, h: 60, d: 24 * 60 }[unit] ?? 1)
}

const count = z.int().check(z.minimum(0))

/** What a heartbeat saw when it was decided. Facts that only the agent knows are null if it did not answer. */
export const heartbeatFactsSchema = z.strictObject({
  /** True if HEARTBEAT.md has its default content. */
  default_rules: z.nullable(z.boolean()),
  /** True if the agent got or ended work since its last heartbeat that ran. */
  recent_activity: z.nullable(z.boolean()),
  /** The used part of what the agent may keep below /data, in percent. */
  disk_used_percent: z.nullable(z.number()),
  unread_signals: count,
  open_tasks: count,
  /** Messages of other agents that started no work. */
  messages: count,
  /** Changes for the worse in the fleet since the last heartbeat; 0 for workers. */
  fleet_changes: count,
  /** The probes that found something, each of which makes the heartbeat run. */
  probes: z.array(z.string()),
})
export type HeartbeatFacts = z.infer<typeof heartbeatFactsSchema>

/** The result of the last due heartbeat. Times are milliseconds since 1970. */
export const heartbeatFireSchema = z.strictObject({
  at: z.number(),
  manual: z.boolean(),
  /** The reason for skipping the heartbeat; null if it ran. */
  skipped: z.nullable(z.string()),
  run_id: z.nullable(z.string()),
  /** Characters of HEARTBEAT.md that did not fit into the heartbeat's message. */
  rules_left_out: z.int(),
  /** Null if the heartbeat was skipped before the mesh read anything, or decided by an earlier release. */
  facts: z.nullable(heartbeatFactsSchema),
})
export type HeartbeatFire = z.infer<typeof heartbeatFireSchema>

export const heartbeatViewSchema = z.strictObject({
  agent_id: agentIdSchema,
  /** Null if the agent has no heartbeats. */
  schedule: z.nullable(z.string()),
  /** True if the schedule cannot be changed. */
  locked: z.boolean(),
  archived: z.boolean(),
  last: z.nullable(heartbeatFireSchema),
})
export type HeartbeatView = z.infer<typeof heartbeatViewSchema>

export const heartbeatApi = {
  heartbeats: { response: z.strictObject({ heartbeats: z.array(heartbeatViewSchema) }) },
  heartbeatRun: {
    /** With `if_needed`, the mesh skips the heartbeat if there is nothing to do, as for a heartbeat that is due. */
    request: z.strictObject({ if_needed: z._default(z.boolean(), false) }),
    response: z.strictObject({ skipped: z.nullable(z.string()), run: z.nullable(runViewSchema) }),
  },
  heartbeatSet: {
    /** Null turns heartbeats off. */
    request: z.strictObject({ schedule: z.nullable(heartbeatScheduleSchema) }),
    response: heartbeatViewSchema,
  },
} as const satisfies Record<HeartbeatEndpointName, EndpointSchemas>
