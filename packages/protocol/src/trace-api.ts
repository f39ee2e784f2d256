import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The people's API: the timeline of a run and of all runs that worked for it. */
export const traceEndpoints = {
  runTrace: {
    method: 'GET',
    path: '/api/runs/{id}/trace',
    summary: 'Return the trace of a run, built from the mesh’s own records.',
  },
} as const satisfies Record<string, Endpoint>

export type TraceEndpointName = keyof typeof traceEndpoints

/** Times are milliseconds since 1970; ids are the OTLP ids. */
export const spanViewSchema = z.strictObject({
  span_id: z.string(),
  parent_id: z.nullable(z.string()),
  run_id: z.string(),
  agent_id: z.string(),
  name: z.string(),
  kind: z.enum(['internal', 'client']),
  status: z.enum(['unset', 'ok', 'error']),
  started_at: z.number(),
  /** Null while the span is open. */
  ended_at: z.nullable(z.number()),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})
export type SpanView = z.infer<typeof spanViewSchema>

export const traceViewSchema = z.strictObject({
  trace_id: z.string(),
  /** The requested run. */
  run_id: z.string(),
  /** Ordered by their start. */
  spans: z.array(spanViewSchema),
  /** True if the trace has more spans than are shown. */
  truncated: z.boolean(),
  /** Days for which traces are kept; for an older run the spans are gone, and only its runs remain. */
  kept_days: z.int(),
})
export type TraceView = z.infer<typeof traceViewSchema>

export const traceApi = {
  runTrace: { response: traceViewSchema },
} as const satisfies Record<TraceEndpointName, EndpointSchemas>
