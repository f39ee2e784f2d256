import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { summedMax } from './ledger-bounds.ts'
import { agentScope, fleetScope, monthOf, projectScope, runScope, taskScope } from './sum-scopes.ts'
import type { SpendTotal } from './spend-table.ts'
import { dailySchema, daySchema, nestSchema, sql, totalSchema } from './sum-statements.ts'
import type { Sum } from './sum-statements.ts'

/** A sum that differs from the sum of its rows. */
interface SumDifference {
  /** `daily` for a row of the reports; otherwise the scope of a budget. */
  readonly scope: string
  readonly period: string
  readonly told: SpendTotal
  readonly fromRows: SpendTotal
}

interface DailyDifference {
  readonly day: string
  readonly agentId: string
  readonly project: string
  readonly model: string
  readonly storedNano: number
  readonly fromRows: DailySum
}

interface DailySum {
  readonly costNano: number
  readonly unconfirmedNano: number
  readonly calls: number
  readonly promptTokens: number
  readonly completionTokens: number
}

export interface Differences {
  readonly totals: readonly SumDifference[]
  readonly daily: readonly DailyDifference[]
}

/**
 * Compares the sums with their rows: all days and months since the first of this month, or of the month of the oldest
 * open hold; the runs and tasks with calls since then; and every sum with reserved money. Older sums are closed, and
 * no budget depends on them. Changes nothing.
 */
export function checkSums(database: Database, today: string): Differences {
  const oldest = z.object({ day: z.string().nullable() }).parse(database.prepare(sql.firstOpenDay).get()).day
  const from = monthOf(oldest !== null && oldest < today ? oldest : today)
  const days = database
    .prepare(sql.days)
    .all(from)
    .map((row) => daySchema.parse(row))
  const expected = expectedTotals(database, days, from)
  return { totals: totalDifferences(database, expected, from), daily: dailyDifferences(database, days, from) }
}

interface Expected {
  readonly scope: string
  readonly period: string
  openNano: number
  spentNano: number
  unconfirmedNano: number
  calls: number
  tokens: number
}

function expectedTotals(
  database: Database,
  days: readonly z.infer<typeof daySchema>[],
  from: string,
): Map<string, Expected> {
  const expected = new Map<string, Expected>()
  const add = (scope: string, period: string, sum: Sum) => {
    const key = keyOf(scope, period)
    let one = expected.get(key)
    if (!one) expected.set(key, (one = { scope, period, ...nothing }))
    one.openNano = capped(one.openNano + sum.open_nano)
    one.spentNano = capped(one.spentNano + sum.spent_nano)
    one.unconfirmedNano = capped(one.unconfirmedNano + sum.unconfirmed_nano)
    one.calls += sum.calls
    one.tokens = capped(one.tokens + sum.prompt + sum.completion)
  }
  for (const row of days) {
    const scopes = [agentScope(row.agent_id), fleetScope]
    if (row.project !== '') scopes.push(projectScope(row.project))
    for (const scope of scopes) {
      add(scope, row.day, row)
      add(scope, monthOf(row.day), row)
    }
  }
  for (const [statement, scopeOf] of [
    [sql.runs, runScope],
    [sql.tasks, taskScope],
  ] as const) {
    for (const found of database.prepare(statement).all(from)) {
      const row = nestSchema.parse(found)
      add(scopeOf(row.id), '', row)
    }
  }
  return expected
}

function totalDifferences(
  database: Database,
  expected: ReadonlyMap<string, Expected>,
  from: string,
): readonly SumDifference[] {
  const recorded = new Map<string, z.infer<typeof totalSchema>>()
  const keep = (found: unknown) => {
    const row = totalSchema.parse(found)
    recorded.set(keyOf(row.scope, row.period), row)
  }
  database.prepare(sql.periods).all(from).forEach(keep)
  database.prepare(sql.holding).all().forEach(keep)
  for (const { scope, period } of expected.values()) {
    const found = period === '' ? database.prepare(sql.total).get(scope) : undefined
    if (found !== undefined) keep(found)
  }
  const differences: SumDifference[] = []
  for (const key of new Set([...recorded.keys(), ...expected.keys()])) {
    const row = recorded.get(key)
    const rows = expected.get(key)
    const scope = row?.scope ?? rows?.scope ?? ''
    const period = row?.period ?? rows?.period ?? ''
    const storedTotal = row ? totalOf(row) : nothing
    // For a sum older than the checked rows only the stored value is known: no open row is as old as the sum.
    const isOlder = rows === undefined && period < from
    const fromRows = isOlder ? { ...aboveZero(storedTotal), openNano: 0 } : rows ? totalFrom(rows) : nothing
    if (!isSame(storedTotal, fromRows)) differences.push({ scope, period, told: storedTotal, fromRows })
  }
  return differences
}

function dailyDifferences(
  database: Database,
  days: readonly z.infer<typeof daySchema>[],
  from: string,
): readonly DailyDifference[] {
  const recorded = new Map(
    database
      .prepare(sql.daily)
      .all(from)
      .map((found) => {
        const row = dailySchema.parse(found)
        return [keyOf(row.day, row.agent_id, row.project, row.model), row] as const
      }),
  )
  const differences: DailyDifference[] = []
  const compare = (
    row: Pick<z.infer<typeof dailySchema>, 'day' | 'agent_id' | 'project' | 'model'>,
    fromRows: DailySum,
  ) => {
    const { day, agent_id: agentId, project, model } = row
    const key = keyOf(day, agentId, project, model)
    const sum = recorded.get(key)
    recorded.delete(key)
    const same =
      (sum?.cost_nano ?? 0) === fromRows.costNano &&
      (sum?.unconfirmed_nano ?? 0) === fromRows.unconfirmedNano &&
      (sum?.calls ?? 0) === fromRows.calls &&
      (sum?.prompt_tokens ?? 0) === fromRows.promptTokens &&
      (sum?.completion_tokens ?? 0) === fromRows.completionTokens
    if (!same) differences.push({ day, agentId, project, model, storedNano: sum?.cost_nano ?? 0, fromRows })
  }
  for (const row of days) {
    const { spent_nano: costNano, unconfirmed_nano: unconfirmedNano, calls } = row
    const { prompt: promptTokens, completion: completionTokens } = row
    compare(row, { costNano, unconfirmedNano, calls, promptTokens, completionTokens })
  }
  for (const row of recorded.values()) compare(row, unpaid)
  return differences
}

const nothing: SpendTotal = { openNano: 0, spentNano: 0, unconfirmedNano: 0, calls: 0, tokens: 0 }
const unpaid: DailySum = {
  costNano: 0,
  unconfirmedNano: 0,
  calls: 0,
  promptTokens: 0,
  completionTokens: 0,
}

function totalOf(row: z.infer<typeof totalSchema>): SpendTotal {
  return {
    openNano: row.open_nano,
    spentNano: row.spent_nano,
    unconfirmedNano: row.unconfirmed_nano,
    calls: row.calls,
    tokens: row.tokens,
  }
}

function totalFrom({ openNano, spentNano, unconfirmedNano, calls, tokens }: Expected): SpendTotal {
  return { openNano, spentNano, unconfirmedNano, calls, tokens }
}

function isSame(one: SpendTotal, other: SpendTotal): boolean {
  return (
    one.openNano === other.openNano &&
    one.spentNano === other.spentNano &&
    one.unconfirmedNano === other.unconfirmedNano &&
    one.calls === other.calls &&
    one.tokens === other.tokens
  )
}

/** Raises negative sums of earlier releases to zero, because the database rejects negative sums. */
function aboveZero({ openNano, spentNano, unconfirmedNano, calls, tokens }: SpendTotal): SpendTotal {
  return {
    openNano: Math.max(0, openNano),
    spentNano: Math.max(0, spentNano),
    unconfirmedNano: Math.max(0, unconfirmedNano),
    calls: Math.max(0, calls),
    tokens: Math.max(0, tokens),
  }
}

/** Caps a sum at the maximum of stored sums. */
function capped(sum: number): number {
  return Math.min(sum, summedMax)
}

function keyOf(...parts: readonly string[]): string {
  return parts.join('\n')
}
