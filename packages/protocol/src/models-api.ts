import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** Part of the people's API: the models of the fleet and how they do. */
export const modelsEndpoints = {
  models: { method: 'GET', path: '/api/models', summary: 'Models with price, health and who may use them' },
} as const satisfies Record<string, Endpoint>

/** What a provider said to an agent of how long a prompt may be. */
export const statedWindowViewSchema = z.strictObject({
  agent_id: z.string(),
  /** Null where it refused a prompt as too long and named no limit. */
  tokens: z.nullable(z.int()),
  /** Until then the agent keeps within it, unless a longer prompt is answered before. */
  until: z.number(),
})
export type StatedWindowView = z.infer<typeof statedWindowViewSchema>

export const modelViewSchema = z.strictObject({
  /** `provider/model`. */
  id: z.string(),
  provider: z.string(),
  /** Why it cannot be called now (no key, no price); null when it can. */
  problem: z.nullable(z.string()),
  /** US dollars per million tokens, the dearest of what applies; null where none is known. */
  price: z.nullable(z.strictObject({ input_per_mtok: z.number(), output_per_mtok: z.number() })),
  /** Why it costs nothing: it is played here, the owner says so, or its provider's address is this machine's; null where it costs. */
  free_because: z.nullable(z.enum(['played', 'declared', 'this-machine'])),
  /** Models that may answer in its place, in order. */
  fallback: z.array(z.string()),
  /** `on-trial`: its cool-down is over, and the next answer decides. `unknown`: not asked since the mesh started. */
  health: z.enum(['unknown', 'ok', 'cooling', 'on-trial']),
  cool_down_seconds: z.number(),
  /** Failures in a row. */
  failures: z.int(),
  /** Calls since the mesh started, or since its settings changed. */
  answered: z.int(),
  failed: z.int(),
  last_error: z.nullable(z.strictObject({ code: z.string(), detail: z.string(), at: z.number() })),
  stated_windows: z.array(statedWindowViewSchema),
  /** Agents that may use it. */
  agents: z.array(z.string()),
})
export type ModelView = z.infer<typeof modelViewSchema>

export const modelsApi = {
  models: { response: z.strictObject({ models: z.array(modelViewSchema) }) },
} as const satisfies Record<keyof typeof modelsEndpoints, EndpointSchemas>
