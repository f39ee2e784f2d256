import type { Clock } from '@flotilla/protocol/clock'
import { reportedModel } from '@flotilla/protocol/harness-api'
import type { CostKey } from '@flotilla/protocol/money-api'
import * as z from 'zod'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { addCacheUse, noCacheUse } from './cache-use.ts'
import type { CacheUse } from './cache-use.ts'
import { readable, summed } from './ledger-bounds.ts'
import { usdFromNano } from './money.ts'
import { utcDay } from './sum-scopes.ts'

export interface CostRow {
  readonly key: string
  readonly usd: number
  /** Part of `usd`: booked at the reserved amount, because the cost of those calls is unknown. */
  readonly unconfirmed_usd: number
  readonly calls: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  /** Part of the tokens: reported by harnesses, without a price. */
  readonly reported_tokens: number
  /** What the prompt caches of providers did: tokens, and US dollars. */
  readonly cache: {
    readonly read_tokens: number
    readonly written_tokens: number
    readonly read_usd: number
    readonly written_usd: number
    readonly saved_usd: number
  }
  /** US dollars of each day, oldest first; empty by hour. */
  readonly daily_usd: number[]
}

export interface CostReport {
  readonly by: CostKey
  readonly from: string
  readonly to: string
  readonly total: Omit<CostRow, 'key' | 'daily_usd'>
  readonly rows: CostRow[]
}

export interface CostQuery {
  readonly by: CostKey
  /** The number of days, including today (UTC). */
  readonly days: number
}

export type ReportCosts = (caller: Caller, query: CostQuery) => CostReport

/** Where the sums of each grouping are, what its keys are, and the day of a row. */
const ofDays = {
  calls: 'spend_daily',
  caches: 'spend_cache',
  reported: `CASE model WHEN '${reportedModel}' THEN prompt_tokens + completion_tokens ELSE 0 END`,
  day: 'day',
  at: 'day',
} as const
const ofHours = {
  calls: 'spend_hourly',
  caches: 'spend_hourly',
  reported: 'reported_tokens',
  day: 'substr(hour, 1, 10)',
  at: 'hour',
} as const
const groupings = {
  agent: { ...ofDays, key: 'agent_id' },
  project: { ...ofDays, key: 'project' },
  model: { ...ofDays, key: 'model' },
  day: { ...ofDays, key: 'day' },
  kind: { ...ofHours, key: 'kind' },
  hour: { ...ofHours, key: 'hour' },
} as const satisfies Record<CostKey, Grouping>

interface Grouping {
  readonly calls: string
  readonly caches: string
  /** Tokens that harnesses reported, as SQL. */
  readonly reported: string
  readonly day: string
  readonly key: string
  /** The column of the time, which begins with the day. */
  readonly at: string
}

const dayMs = 24 * 3600 * 1000

const foundSchema = z.object({
  key: z.string(),
  day: z.string(),
  nano: z.number(),
  unconfirmed: z.number(),
  calls: z.number(),
  prompt: z.number(),
  completion: z.number(),
  reported: z.number(),
})

interface Sum {
  nano: number
  unconfirmed: number
  calls: number
  prompt: number
  completion: number
  reported: number
  cache: CacheUse
}

/** The spending of the last days including today; deleted agents are still listed. Problem `denied`. */
export function createReportCosts(deps: CostsDeps & { readonly guard: Guard }): ReportCosts {
  return (caller, query) => {
    deps.guard(caller, { do: 'view-fleet' })
    return costsOf(deps, query)
  }
}

export interface CostsDeps {
  readonly database: Database
  readonly clock: Clock
}

/** Returns the report without asking who reads it. */
export function costsOf(deps: CostsDeps, { by, days }: CostQuery): CostReport {
  const now = deps.clock.now()
  const listed = Array.from({ length: days }, (_, index) => utcDay(now - (days - 1 - index) * dayMs))
  const from = listed[0] ?? utcDay(now)
  const { calls, reported, day, key, at } = groupings[by]
  const found = deps.database
    .prepare(
      `SELECT ${key} AS key, ${day} AS day, ${summed('cost_nano')} AS nano, ${summed('unconfirmed_nano')} AS unconfirmed, ${summed('calls')} AS calls,
        ${summed('prompt_tokens')} AS prompt, ${summed('completion_tokens')} AS completion, ${summed(reported)} AS reported FROM ${calls} WHERE ${at} >= ? GROUP BY 1, 2`,
    )
    .all(from)
    .map((row) => foundSchema.parse(row))
  const caches = cachesBy(deps.database, groupings[by], from)
  const place = new Map(listed.map((one, index) => [one, index]))
  const byKey = new Map<string, { sum: Sum; daily: number[] }>()
  const total = emptySum()
  for (const row of found) {
    let known = byKey.get(row.key)
    if (!known)
      byKey.set(row.key, (known = { sum: emptySum(), daily: by === 'hour' ? [] : listed.map(() => 0) }))
    const more = { ...row, cache: caches(row.key, row.day) }
    add(known.sum, more)
    add(total, more)
    const index = place.get(row.day)
    if (index !== undefined && by !== 'hour')
      known.daily[index] = (known.daily[index] ?? 0) + usdFromNano(row.nano)
  }
  const rows = [...byKey].map(([key, { sum, daily }]) => ({ key, ...totalView(sum), daily_usd: daily }))
  rows.sort(
    by === 'day' || by === 'hour' ? byName : (one, other) => other.usd - one.usd || byName(one, other),
  )
  return { by, from, to: listed.at(-1) ?? from, total: totalView(total), rows }
}

const cacheSchema = z.object({
  key: z.string(),
  day: z.string(),
  readTokens: z.number(),
  writtenTokens: z.number(),
  readNano: z.number(),
  writtenNano: z.number(),
  savedNano: z.number(),
})

/** Reads the use of prompt caches since a day; returns a function that returns the use of one group on one day. */
function cachesBy(
  database: Database,
  { caches, day, key, at }: Grouping,
  from: string,
): (key: string, day: string) => CacheUse {
  const rows = database
    .prepare(
      `SELECT ${key} AS key, ${day} AS day, ${summed('read_tokens')} AS readTokens, ${summed('written_tokens')} AS writtenTokens,
        ${summed('read_nano')} AS readNano, ${summed('written_nano')} AS writtenNano,
        CAST(${readable('total(saved_nano)')} AS INTEGER) AS savedNano FROM ${caches} WHERE ${at} >= ? GROUP BY 1, 2`,
    )
    .all(from)
    .map((row) => cacheSchema.parse(row))
  const found = new Map(rows.map((row) => [`${row.day} ${row.key}`, row]))
  return (group, onDay) => found.get(`${onDay} ${group}`) ?? noCacheUse
}

function emptySum(): Sum {
  return { nano: 0, unconfirmed: 0, calls: 0, prompt: 0, completion: 0, reported: 0, cache: noCacheUse }
}

function add(sum: Sum, more: Sum): void {
  sum.nano += more.nano
  sum.unconfirmed += more.unconfirmed
  sum.calls += more.calls
  sum.prompt += more.prompt
  sum.completion += more.completion
  sum.reported += more.reported
  sum.cache = addCacheUse(sum.cache, more.cache)
}

function totalView({ nano, unconfirmed, calls, prompt, completion, reported, cache }: Sum) {
  return {
    usd: usdFromNano(nano),
    unconfirmed_usd: usdFromNano(unconfirmed),
    calls,
    prompt_tokens: prompt,
    completion_tokens: completion,
    reported_tokens: reported,
    cache: {
      read_tokens: cache.readTokens,
      written_tokens: cache.writtenTokens,
      read_usd: usdFromNano(cache.readNano),
      written_usd: usdFromNano(cache.writtenNano),
      saved_usd: usdFromNano(cache.savedNano),
    },
  }
}

function byName(one: CostRow, other: CostRow): number {
  return one.key < other.key ? -1 : 1
}
