import type { Clock } from '@flotilla/protocol/clock'
import type { CostKey } from '@flotilla/protocol/money-api'
import * as z from 'zod'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { summed } from './ledger-bounds.ts'
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
  asked: { readonly by: CostKey; readonly days: number },
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
    const place = new Map(listed.map((day, index) => [day, index]))
    const byKey = new Map<string, { sum: Sum; daily: number[] }>()
    const total = emptySum()
    for (const row of found) {
      let known = byKey.get(row.key)
      if (!known) byKey.set(row.key, (known = { sum: emptySum(), daily: listed.map(() => 0) }))
      add(known.sum, row)
      add(total, row)
      const at = place.get(row.day)
      if (at !== undefined) known.daily[at] = (known.daily[at] ?? 0) + usdFromNano(row.nano)
    }
    const rows = [...byKey].map(([key, { sum, daily }]) => ({ key, ...told(sum), daily_usd: daily }))
    rows.sort(by === 'day' ? byName : (one, other) => other.usd - one.usd || byName(one, other))
    return { by, from, to: listed.at(-1) ?? from, total: told(total), rows }
  }
}

function emptySum(): Sum {
  return { nano: 0, unconfirmed: 0, calls: 0, prompt: 0, completion: 0 }
}

function add(sum: Sum, more: Sum): void {
  sum.nano += more.nano
  sum.unconfirmed += more.unconfirmed
  sum.calls += more.calls
  sum.prompt += more.prompt
  sum.completion += more.completion
}

function told({ nano, unconfirmed, calls, prompt, completion }: Sum) {
  return {
    usd: usdFromNano(nano),
    unconfirmed_usd: usdFromNano(unconfirmed),
    calls,
    prompt_tokens: prompt,
    completion_tokens: completion,
  }
}

function byName(one: CostRow, other: CostRow): number {
  return one.key < other.key ? -1 : 1
}
