import { cacheHitRate, hasCacheUse } from '@flotilla/protocol/money-api'
import type { Metric } from '@flotilla/identity/kernel'
import { costsOf } from './cost-report.ts'
import type { CostsDeps } from './cost-report.ts'

/** What prompt caches of providers did today (UTC) for each agent of the fleet that called a model. */
export function cacheMetrics(
  deps: CostsDeps & { readonly agents: { list(): readonly { readonly id: string }[] } },
): readonly Metric[] {
  const ids = new Set(deps.agents.list().map(({ id }) => id))
  // Agents that were deleted today have costs too; their labels would grow without bound.
  const rows = costsOf(deps, { by: 'agent', days: 1 }).rows.filter(({ key }) => ids.has(key))
  return [
    {
      name: 'flotilla_cache_hit_today_ratio',
      kind: 'gauge',
      description:
        'Share of the input tokens of today (UTC) that providers read from their prompt caches, by agent, 0 to 1',
      samples: rows
        .filter(({ prompt_tokens: tokens }) => tokens > 0)
        .map((row) => ({ labels: { agent: row.key }, value: cacheHitRate(row) })),
    },
    {
      name: 'flotilla_cache_saved_today_usd',
      kind: 'gauge',
      description:
        'What the model calls of today (UTC) would have cost more without prompt caches, by agent, US dollars; negative if reads did not pay for writes',
      samples: rows
        .filter(hasCacheUse)
        .map(({ key, cache }) => ({ labels: { agent: key }, value: cache.saved_usd })),
    },
  ]
}
