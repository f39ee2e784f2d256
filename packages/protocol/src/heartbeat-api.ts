import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { runViewSchema } from './run.ts'

/** The people's API: heartbeats. */
export const heartbeatEndpoints = {
  heartbeats: { method: 'GET', path: '/api/heartbeats', summary: 'When each agent looks around by itself' },
  heartbeatRun: {
    method: 'POST',
    path: '/api/agents/{id}/heartbeat',
    summary: 'Runs a heartbeat of an agent now, or decides on it as if it were due; answers with its outcome',
  },
  heartbeatSet: {
    method: 'PUT',
    path: '/api/agents/{id}/heartbeat',
    summary: 'Sets how often an agent looks around by itself, or that it does not',
  },
} as const satisfies Record<string, Endpoint>

export type HeartbeatEndpointName = keyof typeof heartbeatEndpoints

/** `every 30m`; between a minute and a week. */
export const heartbeatScheduleSchema = z.string().check(
  z.regex(/^every [1-9]\d{0,4}[mhd]$/, 'a heartbeat is like "every 15m", "every 2h" or "every 1d"'),
  z.refine((text) => minutesOf(text) <= 7 * 24 * 60, 'a heartbeat is at most a week apart'),
)

/** Minutes between two heartbeats of a schedule that has the form. Pure. */
export function minutesOf(schedule: string): number {
  const [, count = '0', unit = 'm'] = /^every (\d+)([mhd])$/.exec(schedule) ?? []
  return Number(count) * ({ m: 1, h: 60, d: 24 * 60 }[unit] ?? 1)
}

/** What became of the last one that was due. Times are milliseconds since 1970. */
export const heartbeatFireSchema = z.strictObject({
  at: z.number(),
  manual: z.boolean(),
  /** Null when it ran. */
  skipped: z.nullable(z.string()),
  run_id: z.nullable(z.string()),
  /** Characters of HEARTBEAT.md that its message had no room for. */
  rules_left_out: z.int(),
})
export type HeartbeatFire = z.infer<typeof heartbeatFireSchema>

export const heartbeatViewSchema = z.strictObject({
  agent_id: agentIdSchema,
  /** Null when the agent does not look around by itself. */
  schedule: z.nullable(z.string()),
  /** It cannot be changed. */
  locked: z.boolean(),
  archived: z.boolean(),
  last: z.nullable(heartbeatFireSchema),
})
export type HeartbeatView = z.infer<typeof heartbeatViewSchema>

export const heartbeatApi = {
  heartbeats: { response: z.strictObject({ heartbeats: z.array(heartbeatViewSchema) }) },
  heartbeatRun: {
    /** As if it were due by itself: skipped where there is nothing to do. */
    request: z.strictObject({ if_needed: z._default(z.boolean(), false) }),
    response: z.strictObject({ skipped: z.nullable(z.string()), run: z.nullable(runViewSchema) }),
  },
  heartbeatSet: {
    /** Null for off. */
    request: z.strictObject({ schedule: z.nullable(heartbeatScheduleSchema) }),
    response: heartbeatViewSchema,
  },
} as const satisfies Record<HeartbeatEndpointName, EndpointSchemas>
