import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** Part of the people's API: the fleet's models and their health. */
export const modelsEndpoints = {
  models: {
    method: 'GET',
    path: '/api/models',
    summary: 'List models with price, health and the agents that may use them.',
  },
} as const satisfies Record<string, Endpoint>

/** The context window that a provider stated to an agent when it refused a prompt. */
export const statedWindowViewSchema = z.strictObject({
  agent_id: z.string(),
  /** Null if the provider refused a prompt as too long and stated no limit. */
  tokens: z.nullable(z.int()),
  /** Until this time the agent keeps within the window, unless the model answers a longer prompt earlier. */
  until: z.number(),
})
export type StatedWindowView = z.infer<typeof statedWindowViewSchema>

export const modelViewSchema = z.strictObject({
  /** `provider/model`. */
  id: z.string(),
  provider: z.string(),
  /** Why the model cannot be called now (no key, no price); null if it can. */
  problem: z.nullable(z.string()),
  /** US dollars per million tokens, the highest applicable price; null if no price is known. */
  price: z.nullable(z.strictObject({ input_per_mtok: z.number(), output_per_mtok: z.number() })),
  /** The context window in tokens; null if it is unknown. */
  context_window: z._default(z.nullable(z.int()), null),
  /** Why it is free: it is a played recording, declared free, or on this machine; null if it costs money. */
  free_because: z.nullable(z.enum(['played', 'declared', 'this-machine'])),
  /** Models that may answer in place of this one, in order. */
  fallback: z.array(z.string()),
  /** `on-trial`: the cooldown is over, and the next answer decides. `unknown`: not called since the mesh started. */
  health: z.enum(['unknown', 'ok', 'cooling', 'on-trial']),
  cool_down_seconds: z.number(),
  /** The number of consecutive failures. */
  failures: z.int(),
  /** Calls since the mesh started, or since the model's settings changed. */
  answered: z.int(),
  failed: z.int(),
  last_error: z.nullable(z.strictObject({ code: z.string(), detail: z.string(), at: z.number() })),
  stated_windows: z.array(statedWindowViewSchema),
  /** The purposes for which the settings choose this model for all agents; empty for most models. */
  chosen_for: z._default(z.array(z.enum(['heartbeat', 'compaction'])), []),
  /** Agents that may use the model. */
  agents: z.array(z.string()),
})
export type ModelView = z.infer<typeof modelViewSchema>

export const modelsApi = {
  models: { response: z.strictObject({ models: z.array(modelViewSchema) }) },
} as const satisfies Record<keyof typeof modelsEndpoints, EndpointSchemas>
