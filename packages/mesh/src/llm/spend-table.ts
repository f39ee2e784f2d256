import * as z from 'zod'
import type { Database } from '../storage/database.ts'

/** One call of a model, as it is paid for. */
export interface SpendRow {
  readonly id: string
  readonly agentId: string
  readonly runId: string | null
  readonly model: string
  /** UTC, `2026-11-21`; a call is paid on the day it began. */
  readonly day: string
  readonly reservedNano: number
}

export interface SpendTotal {
  readonly openNano: number
  readonly spentNano: number
  readonly calls: number
  readonly tokens: number
}

export interface SpendClosing {
  readonly costNano: number
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Rows and sums of what models cost; every method joins the caller's transaction. */
export interface SpendTable {
  open(row: SpendRow, at: number): void
  /** Closes an open row as paid; null when it is not open any more. */
  settle(id: string, closing: SpendClosing, at: number): SpendRow | null
  /** Closes an open row as not paid. */
  refund(id: string, at: number): void
  openRows(): readonly SpendRow[]
  isKnown(id: string): boolean
  /** `period` is a day, a month, or empty for a run. */
  total(scope: string, period: string): SpendTotal
}

export function agentScope(agentId: string): string {
  return `agent:${agentId}`
}

export function runScope(runId: string): string {
  return `run:${runId}`
}

/** `2026-11-21T…` gives `2026-11-21`. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

export function monthOf(day: string): string {
  return day.slice(0, 7)
}

const rowSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  run_id: z.string().nullable(),
  model: z.string(),
  day: z.string(),
  reserved_nano: z.number(),
})

const totalSchema = z.object({
  open_nano: z.number(),
  spent_nano: z.number(),
  calls: z.number(),
  tokens: z.number(),
})

const columns = 'id, agent_id, run_id, model, day, reserved_nano'

export function createSpendTable(database: Database): SpendTable {
  /** Adds to every sum that the call counts in. */
  function addToTotals(row: SpendRow, change: SpendTotal): void {
    const add = database.prepare(
      `INSERT INTO spend_total (scope, period, open_nano, spent_nano, calls, tokens) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (scope, period) DO UPDATE SET open_nano = open_nano + excluded.open_nano,
         spent_nano = spent_nano + excluded.spent_nano, calls = calls + excluded.calls, tokens = tokens + excluded.tokens`,
    )
    const scopes: (readonly [string, string])[] = [
      [agentScope(row.agentId), row.day],
      [agentScope(row.agentId), monthOf(row.day)],
    ]
    if (row.runId !== null) scopes.push([runScope(row.runId), ''])
    for (const [scope, period] of scopes) {
      add.run(scope, period, change.openNano, change.spentNano, change.calls, change.tokens)
    }
  }

  function openRow(id: string): SpendRow | null {
    const found = database.prepare(`SELECT ${columns} FROM spend WHERE id = ? AND state = 'open'`).get(id)
    return found === undefined ? null : rowFrom(found)
  }

  return {
    open(row, at) {
      database
        .prepare(`INSERT INTO spend (${columns}, state, opened_at) VALUES (?, ?, ?, ?, ?, ?, 'open', ?)`)
        .run(row.id, row.agentId, row.runId, row.model, row.day, row.reservedNano, at)
      addToTotals(row, { openNano: row.reservedNano, spentNano: 0, calls: 0, tokens: 0 })
    },
    settle(id, closing, at) {
      const row = openRow(id)
      if (!row) return null
      const { costNano, promptTokens, completionTokens } = closing
      database
        .prepare(
          `UPDATE spend SET state = 'settled', cost_nano = ?, prompt_tokens = ?, completion_tokens = ?, closed_at = ?
           WHERE id = ?`,
        )
        .run(costNano, promptTokens, completionTokens, at, id)
      addToTotals(row, {
        openNano: -row.reservedNano,
        spentNano: costNano,
        calls: 1,
        tokens: promptTokens + completionTokens,
      })
      return row
    },
    refund(id, at) {
      const row = openRow(id)
      if (!row) return
      database.prepare(`UPDATE spend SET state = 'refunded', closed_at = ? WHERE id = ?`).run(at, id)
      addToTotals(row, { openNano: -row.reservedNano, spentNano: 0, calls: 0, tokens: 0 })
    },
    openRows: () =>
      database
        .prepare(`SELECT ${columns} FROM spend WHERE state = 'open' ORDER BY opened_at`)
        .all()
        .map(rowFrom),
    isKnown: (id) => database.prepare('SELECT 1 FROM spend WHERE id = ?').get(id) !== undefined,
    total(scope, period) {
      const found = database
        .prepare(
          'SELECT open_nano, spent_nano, calls, tokens FROM spend_total WHERE scope = ? AND period = ?',
        )
        .get(scope, period)
      if (found === undefined) return { openNano: 0, spentNano: 0, calls: 0, tokens: 0 }
      const sums = totalSchema.parse(found)
      return { openNano: sums.open_nano, spentNano: sums.spent_nano, calls: sums.calls, tokens: sums.tokens }
    },
  }
}

function rowFrom(found: unknown): SpendRow {
  const row = rowSchema.parse(found)
  return {
    id: row.id,
    agentId: row.agent_id,
    runId: row.run_id,
    model: row.model,
    day: row.day,
    reservedNano: row.reserved_nano,
  }
}
