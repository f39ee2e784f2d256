import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'

/** The people's API: budgets of agents, projects and the fleet, and what was spent. */
export const moneyEndpoints = {
  budgets: {
    method: 'GET',
    path: '/api/budgets',
    summary: 'List all budgets with the amounts spent and reserved.',
  },
  budgetSet: {
    method: 'PUT',
    path: '/api/budgets',
    summary: 'Set the daily limit, the monthly limit or both of a budget.',
  },
  agentProjectSet: {
    method: 'PUT',
    path: '/api/agents/{id}/project',
    summary: 'Set the project whose budget an agent’s costs count towards.',
  },
  costReport: {
    method: 'GET',
    path: '/api/costs/report',
    summary: 'Return the spend of the last days by agent, project, model, kind of run, day or hour.',
  },
} as const satisfies Record<string, Endpoint>

export type MoneyEndpointName = keyof typeof moneyEndpoints

/** 1 to 64 characters: small letters, digits, `_` and `-`; the first is a letter or digit. */
export const projectNameSchema = z
  .string()
  .check(z.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a project is 1 to 64 of a-z 0-9 _ -'))

/** The daily limit of a new fleet, for all its agents together, in US dollars, until a person changes it. */
export const firstFleetDailyUsd = 20

export const budgetScopes = ['agent', 'project', 'fleet'] as const
export type BudgetScopeKind = (typeof budgetScopes)[number]

const period = z.strictObject({
  /** Null if no limit is set; agents always have one. */
  limit_usd: z.nullable(z.number()),
  spent_usd: z.number(),
  /** The part of the spent amount that is estimated: the reserved amounts of calls whose cost is unknown. */
  unconfirmed_usd: z.number(),
  /** Money that is reserved for open calls. */
  reserved_usd: z.number(),
  /** Midnight UTC after the day, or the first of the next month. */
  resets_at: z.string(),
})

export const budgetViewSchema = z.strictObject({
  scope: z.enum(budgetScopes),
  /** The id of the agent or project; empty for the fleet. */
  id: z.string(),
  /** For an agent: the project that it is charged to in addition to its own budget. */
  project: z.nullable(z.string()),
  daily: period,
  monthly: period,
})
export type BudgetView = z.infer<typeof budgetViewSchema>

/** The use case reports range errors, with field and numbers; an absent period stays unchanged. */
export const budgetSetSchema = z.strictObject({
  scope: z.enum(budgetScopes),
  id: z._default(z.string().check(z.maxLength(64)), ''),
  /** Null removes the limit of a project or of the fleet. */
  daily_usd: z.optional(z.nullable(z.number())),
  monthly_usd: z.optional(z.nullable(z.number())),
})

export const costKeys = ['agent', 'project', 'model', 'kind', 'day', 'hour'] as const
export type CostKey = (typeof costKeys)[number]

/** The maximum number of days of one cost report. */
export const costDaysMax = 400

const costs = {
  usd: z.number(),
  /** The part of `usd` that is estimated: the reserved amounts of calls whose cost is unknown. */
  unconfirmed_usd: z.number(),
  calls: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  /** The part of these tokens that harnesses reported of calls outside of the mesh; `usd` has no price of it. */
  reported_tokens: z.int(),
  /** The use of the providers' prompt caches; its tokens are included in `prompt_tokens`, its costs in `usd`. */
  cache: z.strictObject({
    read_tokens: z.int(),
    written_tokens: z.int(),
    read_usd: z.number(),
    written_usd: z.number(),
    /** The cost of the same calls without a cache, minus their cost; negative if reads did not pay for writes. */
    saved_usd: z.number(),
  }),
}

type Costs = z.infer<z.ZodMiniObject<typeof costs>>

/** Returns the share of the prompt tokens that were read from a cache, 0 to 1; 0 without prompt tokens. Pure. */
export function cacheHitRate({
  prompt_tokens: prompt,
  cache,
}: Pick<Costs, 'prompt_tokens' | 'cache'>): number {
  return prompt === 0 ? 0 : Math.min(1, cache.read_tokens / prompt)
}

/** True for calls without a known price: a harness reported their tokens, and nothing else was paid. Pure. */
export function isUnpriced({ usd, reported_tokens: reported }: Pick<Costs, 'usd' | 'reported_tokens'>) {
  return usd === 0 && reported > 0
}

/** True if a provider read from its cache or wrote to it. Pure. */
export function hasCacheUse({ cache }: Pick<Costs, 'cache'>): boolean {
  return cache.read_tokens > 0 || cache.written_tokens > 0
}

export const moneyApi = {
  budgets: { response: z.strictObject({ budgets: z.array(budgetViewSchema) }) },
  budgetSet: {
    request: budgetSetSchema,
    response: z.extend(budgetViewSchema, {
      /** Why the budget refuses every call, or that no agent is charged to the project, with the repair. */
      notices: z._default(z.array(z.string()), []),
    }),
  },
  agentProjectSet: {
    request: z.strictObject({ project: z.nullable(projectNameSchema) }),
    response: z.strictObject({ agent_id: agentIdSchema, project: z.nullable(z.string()) }),
  },
  costReport: {
    query: z.strictObject({
      by: z._default(z.enum(costKeys), 'agent'),
      days: z._default(z.coerce.number().check(z.minimum(1), z.maximum(costDaysMax), z.multipleOf(1)), 30),
    }),
    response: z.strictObject({
      by: z.enum(costKeys),
      /** UTC days, both included. */
      from: z.string(),
      to: z.string(),
      total: z.strictObject(costs),
      /**
       * Highest cost first; by day and hour: oldest first, hours such as `2026-11-29T14` in UTC. An empty key means agents
       * without a project, or calls outside of runs.
       */
      rows: z.array(
        z.strictObject({
          key: z.string(),
          ...costs,
          /** US dollars of each day from `from` to `to`; empty by hour. */
          daily_usd: z.array(z.number()),
        }),
      ),
    }),
  },
} as const satisfies Record<MoneyEndpointName, EndpointSchemas>
