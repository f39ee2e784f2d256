import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'

/** The people's API: the kill switch of all work that triggers started. */
export const pauseEndpoints = {
  pauses: { method: 'GET', path: '/api/pauses', summary: 'List the pauses, with who set each and why.' },
  pause: {
    method: 'POST',
    path: '/api/pauses',
    summary: 'Pause triggered work of the fleet or of one agent. People’s requests still run.',
  },
  resume: {
    method: 'POST',
    path: '/api/pauses/resume',
    summary: 'End a pause. Work that came due during the pause runs once.',
  },
} as const satisfies Record<string, Endpoint>

export type PauseEndpointName = keyof typeof pauseEndpoints

/** The maximum length of the reason for a pause, in characters. */
const reasonMaxChars = 500

export const pauseViewSchema = z.strictObject({
  /** Null for the whole fleet. */
  agent_id: z.nullable(z.string()),
  reason: z.string(),
  by: z.string(),
  /** Milliseconds since 1970. */
  since: z.number(),
  /** Queued runs that wait for the end of the pause. */
  held: z.number(),
  /** Ids of runs that a trigger started before the pause and that are still running. */
  working: z.array(z.string()),
})
export type PauseView = z.infer<typeof pauseViewSchema>

const resumeResultSchema = z.strictObject({
  agent_id: z.nullable(z.string()),
  /** Queued runs that may start now. */
  released: z.number(),
  /** Agents that another pause still holds. */
  still_paused: z.array(z.string()),
})
export type ResumeResult = z.infer<typeof resumeResultSchema>

export const pauseApi = {
  pauses: { response: z.strictObject({ pauses: z.array(pauseViewSchema) }) },
  pause: {
    request: z.strictObject({
      agent_id: z._default(z.nullable(agentIdSchema), null),
      reason: z._default(z.string().check(z.maxLength(reasonMaxChars)), ''),
      /** True also cancels running runs that a trigger started. */
      now: z._default(z.boolean(), false),
    }),
    response: pauseViewSchema,
  },
  resume: {
    request: z.strictObject({ agent_id: z._default(z.nullable(agentIdSchema), null) }),
    response: resumeResultSchema,
  },
} as const satisfies Record<PauseEndpointName, EndpointSchemas>
