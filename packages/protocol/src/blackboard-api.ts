import * as z from 'zod/mini'
import { blackboardEntrySchema } from './blackboard-entry.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, idSchema } from './ids.ts'
import { jsonValueSchema } from './json-value.ts'
import { watchLimits, watchDeliveries } from './blackboard-limits.ts'

/** Watches of an agent: which keys notify it, and how. */
export const blackboardWatchEndpoints = {
  blackboardWatches: {
    method: 'GET',
    path: '/mesh/blackboard-watches',
    summary: 'List the key patterns of whose changes the calling agent is notified.',
  },
  blackboardWatch: {
    method: 'POST',
    path: '/mesh/blackboard-watches',
    summary: 'Start or stop to notify the calling agent of changes to keys under a pattern.',
  },
} as const satisfies Record<string, Endpoint>

/** The people's API. */
export const blackboardHumanEndpoints = {
  blackboardEntry: { method: 'GET', path: '/api/blackboard/{*key}', summary: 'Return one blackboard entry.' },
  blackboardPut: { method: 'PUT', path: '/api/blackboard/{*key}', summary: 'Write one blackboard entry.' },
  blackboardDelete: {
    method: 'DELETE',
    path: '/api/blackboard/{*key}',
    summary: 'Delete one blackboard entry.',
  },
  blackboardHistory: {
    method: 'GET',
    path: '/api/blackboard-history/{*key}',
    summary: 'Return one blackboard entry with its stored earlier versions.',
  },
  blackboardWatchList: {
    method: 'GET',
    path: '/api/blackboard-watches',
    summary: 'List which agents are notified of which blackboard keys.',
  },
  blackboardWatchSet: {
    method: 'POST',
    path: '/api/blackboard-watches',
    summary: 'Start or stop to notify an agent of changes to keys under a pattern.',
  },
} as const satisfies Record<string, Endpoint>

export const watchPatternSchema = z
  .string()
  .check(
    z.maxLength(watchLimits.patternMaxChars),
    z.regex(
      /^[\p{L}\p{N}_.:@ *-]+(?:\/[\p{L}\p{N}_.:@ *-]+)*$/u,
      'a pattern is a key in which * matches part of a segment and ** any number of segments',
    ),
  )

export const blackboardWatchSchema = z.strictObject({
  id: idSchema('watch'),
  agent_id: agentIdSchema,
  pattern: z.string(),
  tell: z.enum(watchDeliveries),
  created_by: z.string(),
  created_at: z.number(),
  /** How many changes the agent was not notified of yet. */
  waiting: z.int(),
  /** The reason why these changes wait, as text; null if none waits. */
  held: z.nullable(z.string()),
})
export type BlackboardWatchView = z.infer<typeof blackboardWatchSchema>

const watches = z.strictObject({ watches: z.array(blackboardWatchSchema) })
/** `off` removes the watch. */
const tell = z.enum([...watchDeliveries, 'off'])

export const blackboardWatchApi = {
  blackboardWatches: { response: watches },
  blackboardWatch: { request: z.strictObject({ pattern: watchPatternSchema, tell }), response: watches },
} as const satisfies Record<keyof typeof blackboardWatchEndpoints, EndpointSchemas>

export const blackboardHumanApi = {
  blackboardEntry: { response: blackboardEntrySchema },
  blackboardPut: {
    request: z.strictObject({
      value: jsonValueSchema,
      expected_version: z.optional(z.int().check(z.minimum(0))),
      ttl_s: z.optional(z.int().check(z.positive())),
    }),
    response: blackboardEntrySchema,
  },
  blackboardHistory: {
    response: z.strictObject({
      entry: blackboardEntrySchema,
      /** Newest first, including the current one; the mesh does not keep older ones. */
      versions: z.array(
        z.strictObject({
          version: z.int(),
          value: jsonValueSchema,
          written_by: z.string(),
          written_at: z.number(),
        }),
      ),
    }),
  },
  blackboardDelete: { response: z.strictObject({ deleted: z.string() }) },
  blackboardWatchList: { response: watches },
  blackboardWatchSet: {
    request: z.strictObject({ agent_id: agentIdSchema, pattern: watchPatternSchema, tell }),
    response: watches,
  },
} as const satisfies Record<keyof typeof blackboardHumanEndpoints, EndpointSchemas>
