import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import { jsonValueSchema } from './json-value.ts'
import { spawnLimits } from './limits.ts'

/** The agent API, continued: agents that an agent creates for one task. */
export const spawnEndpoints = {
  spawn: {
    method: 'POST',
    path: '/mesh/spawn',
    summary: 'Create a temporary agent for one task. The answer comes before the task is done.',
  },
} as const satisfies Record<string, Endpoint>

const { ttlSeconds, roleMaxChars, promptMaxChars, budgetUsd } = spawnLimits

export const spawnRequestSchema = z.strictObject({
  role: z.string().check(z.minLength(1), z.maxLength(roleMaxChars)),
  /** The new agent's instructions, stored as its INSTRUCTIONS.md. */
  system_prompt: z._default(z.string().check(z.maxLength(promptMaxChars)), ''),
  /** The task of the new agent. */
  task: z.string().check(z.minLength(1), z.maxLength(50_000)),
  /** Lifetime in seconds; afterwards the mesh ends the agent, even while the agent is working. */
  ttl: z._default(z.int().check(z.minimum(ttlSeconds.min), z.maximum(ttlSeconds.max)), ttlSeconds.default),
  /** What the new agent may spend, US dollars, out of its parent's budget. */
  budget_usd: z._default(
    z.number().check(z.minimum(budgetUsd.min), z.maximum(budgetUsd.max)),
    budgetUsd.default,
  ),
  /** Fields of the new agent's permission record, limited to what its parent may do. */
  permissions: z._default(z.record(z.string(), jsonValueSchema), {}),
})

export const spawnApi = {
  spawn: {
    request: spawnRequestSchema,
    response: z.strictObject({
      agent_id: agentIdSchema,
      task_id: taskIdSchema,
      run_id: runIdSchema,
      /** Milliseconds since 1970. */
      ends_at: z.number(),
      /**
       * Requested permission fields that were reduced, each with the reason; absent if the new agent got all that was
       * requested.
       */
      withheld: z.optional(z.array(z.strictObject({ field: z.string(), why: z.string() }))),
    }),
  },
} as const satisfies Record<keyof typeof spawnEndpoints, EndpointSchemas>
