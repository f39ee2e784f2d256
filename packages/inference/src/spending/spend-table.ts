import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { isWithoutCache, noCacheUse } from './cache-use.ts'
import type { CacheUse } from './cache-use.ts'
import { bookable, grown, readable, summable } from './ledger-bounds.ts'
import { agentScope, fleetScope, monthOf, projectScope, runScope, taskScope, utcHour } from './sum-scopes.ts'
import type { UnknownCost } from './unknown-cost.ts'

/** One model call with its reserved cost. */
export interface SpendRow {
  readonly id: string
  readonly agentId: string
  readonly runId: string | null
  /** The task that the run works on. */
  readonly taskId: string | null
  /** The agent's project when the money was reserved. */
  readonly project: string | null
  readonly model: string
  /** UTC, `2026-11-21`; a call is paid on the day it began. */
  readonly day: string
  readonly reservedNano: number
}

export interface SpendTotal {
  readonly openNano: number
  readonly spentNano: number
  /** The part of `spentNano` that is booked at the reserved amount, because the cost of those calls is unknown. */
  readonly unconfirmedNano: number
  readonly calls: number
  readonly tokens: number
}

export interface SpendClosing {
  readonly costNano: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** Why the cost is unknown; `costNano` is then the whole reserved amount. */
  readonly unconfirmed?: UnknownCost
  /** The use of the provider's prompt cache; absent if the provider used no cache. */
  readonly cache?: CacheUse
}

/** The amounts that are added to each sum to which a row belongs. */
type SpendChange = SpendTotal

/** The sum of several calls of the same run, hour and model. */
interface SpendSum {
  readonly row: SpendRow
  /** UTC, `2026-11-21T14`: the hour in which the calls began. */
  readonly hour: string
  readonly costNano: number
  readonly unconfirmedNano: number
  readonly calls: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** The part of the tokens that harnesses reported. */
  readonly reportedTokens: number
  readonly cache: CacheUse
}

/**
 * Rows and sums of model costs; every method joins the caller's transaction. The rows are authoritative: a change
 * that finds no open row to change also changes no sum.
 */
export interface SpendTable {
  /** Reserves money in the name of this process of the mesh. */
  open(row: SpendRow, of: { readonly at: number; readonly life: string }): void
  /** Changes the reserved amount of an open row. Returns false, and changes nothing, if the row is no longer open. */
  resize(row: SpendRow, changeNano: number): boolean
  /** Deletes an open row without reserved money. */
  forget(id: string): void
  /** Stores a finished call, paid or refunded; `pay` updates the sums for many calls at once. */
  enter(
    row: SpendRow,
    times: { readonly openedAt: number; readonly closedAt: number },
    closing: SpendClosing | null,
  ): void
  /** Moves the cost of calls from the reserved money of `openId`, if that row is open, to the spent money. */
  pay(row: Omit<SpendRow, 'reservedNano'>, openId: string | null, change: SpendChange): void
  /** Updates the sums for reports by day, hour, kind of run and model, and for the audit log; `pay` updates those for budgets. */
  report(sum: SpendSum): void
  /** Settles an open row in full. Returns false, and changes nothing, if the row is no longer open. */
  settleOpen(row: SpendRow, at: number): boolean
  /** Returns the holds that other processes of the mesh did not close. */
  openRowsOfOthers(life: string): readonly SpendRow[]
  /** Returns a sum. `period` is a day, a month, or empty for a run or a task. */
  total(scope: string, period: string): SpendTotal
}

const rowSchema = z.object({
  id: z.string(),
  agentId: z.string(),
  runId: z.string().nullable(),
  taskId: z.string().nullable(),
  project: z.string().nullable(),
  model: z.string(),
  day: z.string(),
  reservedNano: z.number(),
})

const openedSchema = z.object({ openedAt: z.number() })

/** The column of each sum. */
const totals = {
  openNano: 'open_nano',
  spentNano: 'spent_nano',
  unconfirmedNano: 'unconfirmed_nano',
  calls: 'calls',
  tokens: 'tokens',
} as const
const totalSchema = z.record(z.enum(Object.keys(totals) as (keyof typeof totals)[]), z.number())

const grownReport = ['cost_nano', 'unconfirmed_nano', 'calls', 'prompt_tokens', 'completion_tokens']
  .map(grown)
  .join(', ')

const cacheColumns = ['read_tokens', 'written_tokens', 'read_nano', 'written_nano', 'saved_nano']

/** Complete SQL statements, so that no call has to build the text of a statement. */
const sql = {
  openRow: `INSERT INTO spend (id, agent_id, run_id, task_id, project, model, day, reserved_nano, state, opened_at, life)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)`,
  resize: `UPDATE spend SET reserved_nano = reserved_nano + ? WHERE id = ? AND state = 'open'`,
  forget: `DELETE FROM spend WHERE id = ? AND state = 'open' AND reserved_nano = 0`,
  enter: `INSERT INTO spend (id, agent_id, run_id, task_id, project, model, day, reserved_nano, state, cost_nano,
    prompt_tokens, completion_tokens, opened_at, closed_at, unconfirmed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  settleOpen: `UPDATE spend SET state = 'settled', cost_nano = reserved_nano, unconfirmed = 'mesh-killed',
    closed_at = ? WHERE id = ? AND state = 'open'`,
  openRowsOfOthers: `SELECT id, agent_id AS agentId, run_id AS runId, task_id AS taskId, project, model, day,
    ${readable('reserved_nano')} AS reservedNano FROM spend
    WHERE state = 'open' AND life IS NOT ? ORDER BY opened_at`,
  total: `SELECT ${Object.entries(totals)
    .map(([name, column]) => `${readable(column)} AS ${name}`)
    .join(', ')} FROM spend_total WHERE scope = ? AND period = ?`,
  add: `INSERT INTO spend_total (scope, period, open_nano, spent_nano, unconfirmed_nano, calls, tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (scope, period) DO UPDATE SET ${Object.values(totals).map(grown).join(', ')}`,
  daily: `INSERT INTO spend_daily (day, agent_id, project, model, cost_nano, unconfirmed_nano, calls,
      prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, agent_id, project, model) DO UPDATE SET ${grownReport}`,
  cache: `INSERT INTO spend_cache (day, agent_id, project, model, ${cacheColumns.join(', ')})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, agent_id, project, model) DO UPDATE SET ${cacheColumns.map(grown).join(', ')}`,
  hourly: `INSERT INTO spend_hourly (hour, kind, cost_nano, unconfirmed_nano, calls, prompt_tokens, completion_tokens,
      ${cacheColumns.join(', ')}, reported_tokens)
    VALUES (?, coalesce((SELECT kind FROM runs WHERE id = ?), ''), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (hour, kind) DO UPDATE SET ${grownReport},
      ${[...cacheColumns, 'reported_tokens'].map(grown).join(', ')}`,
  openedAt: `SELECT opened_at AS openedAt FROM spend WHERE id = ?`,
  unjournaled: `INSERT INTO spend_unjournaled (agent_id, run_id, project, model, cost_nano, unconfirmed_nano, calls,
      prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (agent_id, run_id, project, model) DO UPDATE SET ${grownReport}`,
} as const

const nothing: SpendChange = { openNano: 0, spentNano: 0, unconfirmedNano: 0, calls: 0, tokens: 0 }
const noTokens = { promptTokens: 0, completionTokens: 0, reportedTokens: 0 }
const unpaid: SpendClosing = { costNano: 0, promptTokens: 0, completionTokens: 0 }

export function createSpendTable(database: Database): SpendTable {
  /** Adds to every sum to which the row belongs. */
  function addToTotals(row: Omit<SpendRow, 'reservedNano'>, change: SpendChange): void {
    const { openNano, spentNano, unconfirmedNano, calls, tokens } = change
    const sums = [openNano, spentNano, unconfirmedNano, calls, tokens].map(summable)
    const add = (scope: string, period: string) => database.prepare(sql.add).run(scope, period, ...sums)
    add(agentScope(row.agentId), row.day)
    add(agentScope(row.agentId), monthOf(row.day))
    add(fleetScope, row.day)
    add(fleetScope, monthOf(row.day))
    if (row.project !== null) {
      add(projectScope(row.project), row.day)
      add(projectScope(row.project), monthOf(row.day))
    }
    if (row.runId !== null) add(runScope(row.runId), '')
    if (row.taskId !== null) add(taskScope(row.taskId), '')
  }

  /** Returns false for a row that is not open: such a hold has no money to return, and cannot reserve any. */
  function resizeOpen(id: string, changeNano: number): boolean {
    return database.prepare(sql.resize).run(changeNano, id).changes === 1
  }

  function report(sum: SpendSum): void {
    const { row, hour, costNano, unconfirmedNano, calls, promptTokens, completionTokens } = sum
    const { day, agentId, runId, model } = row
    const project = row.project ?? ''
    const sums = [costNano, unconfirmedNano, calls, promptTokens, completionTokens].map(summable)
    database.prepare(sql.daily).run(day, agentId, project, model, ...sums)
    database.prepare(sql.unjournaled).run(agentId, runId ?? '', project, model, ...sums)
    const { readTokens, writtenTokens, readNano, writtenNano, savedNano } = sum.cache
    const used = [readTokens, writtenTokens, readNano, writtenNano, savedNano].map(summable)
    database.prepare(sql.hourly).run(hour, runId, ...sums, ...used, summable(sum.reportedTokens))
    if (isWithoutCache(sum.cache)) return
    database.prepare(sql.cache).run(day, agentId, project, model, ...used)
  }

  return {
    open(row, { at, life }) {
      database.prepare(sql.openRow).run(...ownerOf(row), row.reservedNano, at, life)
      addToTotals(row, { ...nothing, openNano: row.reservedNano })
    },
    resize(row, changeNano) {
      if (!resizeOpen(row.id, changeNano)) return false
      addToTotals(row, { ...nothing, openNano: changeNano })
      return true
    },
    forget: (id) => void database.prepare(sql.forget).run(id),
    enter(row, { openedAt, closedAt }, closing) {
      const { costNano, promptTokens, completionTokens, unconfirmed = null } = closing ?? unpaid
      const state = closing === null ? 'refunded' : 'settled'
      const numbers = [costNano, promptTokens, completionTokens].map((number) => bookable(number))
      database
        .prepare(sql.enter)
        .run(...ownerOf(row), bookable(row.reservedNano), state, ...numbers, openedAt, closedAt, unconfirmed)
    },
    pay(row, openId, change) {
      const isOpen = openId !== null && resizeOpen(openId, change.openNano)
      addToTotals(row, isOpen ? change : { ...change, openNano: 0 })
    },
    report,
    settleOpen(row, at) {
      if (database.prepare(sql.settleOpen).run(at, row.id).changes === 0) return false
      const { reservedNano: costNano } = row
      const paid = { unconfirmedNano: costNano, calls: 1 }
      addToTotals(row, { ...nothing, ...paid, openNano: -costNano, spentNano: costNano })
      const opened = openedSchema.parse(database.prepare(sql.openedAt).get(row.id))
      const hour = utcHour(opened.openedAt)
      report({ row, hour, ...paid, costNano, ...noTokens, cache: noCacheUse })
      return true
    },
    openRowsOfOthers: (life) =>
      database
        .prepare(sql.openRowsOfOthers)
        .all(life)
        .map((row) => rowSchema.parse(row)),
    total(scope, period) {
      const found = database.prepare(sql.total).get(scope, period)
      return found === undefined ? nothing : totalSchema.parse(found)
    },
  }
}

/** The first columns of a row. */
function ownerOf({ id, agentId, runId, taskId, project, model, day }: SpendRow) {
  return [id, agentId, runId, taskId, project, model, day] as const
}
