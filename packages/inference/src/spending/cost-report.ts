import type { Clock } from '@flotilla/protocol/clock'
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
  /** What the prompt caches of providers did: tokens, and US dollars. */
  readonly cache: {
    readonly read_tokens: number
    readonly written_tokens: number
    readonly read_usd: number
    readonly written_usd: number
    readonly saved_usd: number
  }
  /** US dollars of each day, oldest first. */
  readonly daily_usd: number[]
}

export interface CostReport {
  readonly by: CostKey
  readonly from: string
  readonly to: string
  readonly total: Omit<CostRow, 'key' | 'daily_usd'>
  readonly rows: CostRow[]
}

export type ReportCosts = (
  caller: Caller,
  query: { readonly by: CostKey; readonly days: number },
) => CostReport

const columns = { agent: 'agent_id', project: 'project', model: 'model', day: 'day' } as const
const dayMs = 24 * 3600 * 1000

const foundSchema = z.object({
  key: z.string(),
  day: z.string(),
  nano: z.number(),
  unconfirmed: z.number(),
  calls: z.number(),
  prompt: z.number(),
  completion: z.number(),
})

interface Sum {
  nano: number
  unconfirmed: number
  calls: number
  prompt: number
  completion: number
  cache: CacheUse
}

/** The spending of the last days including today; deleted agents are still listed. Problem `denied`. */
export function createReportCosts(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly guard: Guard
}): ReportCosts {
  return (caller, { by, days }) => {
    deps.guard(caller, { do: 'view-fleet' })
    const now = deps.clock.now()
    const listed = Array.from({ length: days }, (_, index) => utcDay(now - (days - 1 - index) * dayMs))
    const from = listed[0] ?? utcDay(now)
    const found = deps.database
      .prepare(
        `SELECT ${columns[by]} AS key, day, ${summed('cost_nano')} AS nano, ${summed('unconfirmed_nano')} AS unconfirmed, ${summed('calls')} AS calls,
          ${summed('prompt_tokens')} AS prompt, ${summed('completion_tokens')} AS completion FROM spend_daily WHERE day >= ? GROUP BY ${columns[by]}, day`,
      )
      .all(from)
      .map((row) => foundSchema.parse(row))
    const caches = cachesBy(deps.database, columns[by], from)
    const place = new Map(listed.map((day, index) => [day, index]))
    const byKey = new Map<string, { sum: Sum; daily: number[] }>()
    const total = emptySum()
    for (const row of found) {
      let known = byKey.get(row.key)
      if (!known) byKey.set(row.key, (known = { sum: emptySum(), daily: listed.map(() => 0) }))
      const more = { ...row, cache: caches(row.key, row.day) }
      add(known.sum, more)
      add(total, more)
      const at = place.get(row.day)
      if (at !== undefined) known.daily[at] = (known.daily[at] ?? 0) + usdFromNano(row.nano)
    }
    const rows = [...byKey].map(([key, { sum, daily }]) => ({ key, ...totalView(sum), daily_usd: daily }))
    rows.sort(by === 'day' ? byName : (one, other) => other.usd - one.usd || byName(one, other))
    return { by, from, to: listed.at(-1) ?? from, total: totalView(total), rows }
  }
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
function cachesBy(database: Database, column: string, from: string): (key: string, day: string) => CacheUse {
  const rows = database
    .prepare(
      `SELECT ${column} AS key, day, ${summed('read_tokens')} AS readTokens, ${summed('written_tokens')} AS writtenTokens,
        ${summed('read_nano')} AS readNano, ${summed('written_nano')} AS writtenNano,
        CAST(${readable('total(saved_nano)')} AS INTEGER) AS savedNano FROM spend_cache WHERE day >= ? GROUP BY ${column}, day`,
    )
    .all(from)
    .map((row) => cacheSchema.parse(row))
  const found = new Map(rows.map(({ key, day, ...use }) => [`${day} ${key}`, use]))
  return (key, day) => found.get(`${day} ${key}`) ?? noCacheUse
}

function emptySum(): Sum {
  return { nano: 0, unconfirmed: 0, calls: 0, prompt: 0, completion: 0, cache: noCacheUse }
}

function add(sum: Sum, more: Sum): void {
  sum.nano += more.nano
  sum.unconfirmed += more.unconfirmed
  sum.calls += more.calls
  sum.prompt += more.prompt
  sum.completion += more.completion
  sum.cache = addCacheUse(sum.cache, more.cache)
}

function totalView({ nano, unconfirmed, calls, prompt, completion, cache }: Sum) {
  return {
    usd: usdFromNano(nano),
    unconfirmed_usd: usdFromNano(unconfirmed),
    calls,
    prompt_tokens: prompt,
    completion_tokens: completion,
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
