import type { RunCost } from '@flotilla/work/runs'
import type { Clock } from '@flotilla/protocol/clock'
import { reportedModel } from '@flotilla/protocol/harness-api'
import { limitsFor } from './budget-limits.ts'
import type { BudgetOf } from './budget-limits.ts'
import type { BudgetWarnings } from './budget-warnings.ts'
import { addCacheUse, noCacheUse } from './cache-use.ts'
import type { CacheUse } from './cache-use.ts'
import type { Hold, Holds } from './holds.ts'
import { usdFromNano } from './money.ts'
import type { Reservation } from './reservation.ts'
import type { SpendClosing, SpendRow, SpendTable } from './spend-table.ts'
import { utcHour } from './sum-scopes.ts'
import type { TaskCalls } from './task-calls.ts'

/** A finished call that is not written yet. */
export interface SettledCall {
  readonly reservation: Reservation
  /** Null if the call was refunded. */
  readonly closing: SpendClosing | null
  readonly andAlso: () => void
}

export interface WriteDeps {
  readonly clock: Clock
  readonly spend: SpendTable
  readonly holds: Pick<Holds, 'release'>
  readonly taskCalls: Pick<TaskCalls, 'written'>
  readonly budgetOf: BudgetOf
  readonly treeOf: (runId: string) => readonly string[]
  readonly addRunCost: (runId: string, cost: RunCost) => void
  readonly warnings?: BudgetWarnings
}

interface Sum {
  readonly row: SpendRow
  readonly hour: string
  readonly hold: Hold | null
  costNano: number
  unconfirmedNano: number
  unconfirmedTokens: number
  calls: number
  promptTokens: number
  completionTokens: number
  reportedTokens: number
  cache: CacheUse
}

/** Runs inside a transaction. Writes budget sums once per run and day, and report sums once per model and hour. */
export function writeSettled(deps: WriteDeps, batch: readonly SettledCall[]): void {
  const closedAt = deps.clock.now()
  const byRun = new Map<string, Sum>()
  const byModel = new Map<string, Sum>()
  for (const { reservation, closing, andAlso } of batch) {
    const { row, openedAt, hold } = reservation
    deps.spend.enter(row, { openedAt, closedAt }, closing)
    deps.taskCalls.written(row.taskId)
    andAlso()
    if (closing === null) continue
    const run = `${row.agentId} ${row.runId} ${row.project} ${row.day} ${hold?.row.id}`
    add(byRun, run, { reservation, closing })
    add(byModel, `${run} ${row.model} ${utcHour(openedAt)}`, { reservation, closing })
  }
  for (const sum of byModel.values()) deps.spend.report(sum)
  for (const sum of byRun.values()) {
    const { row, hold, costNano, unconfirmedNano, calls } = sum
    const releasedNano = hold ? deps.holds.release(hold, costNano) : 0
    const tokens = sum.promptTokens + sum.completionTokens
    const change = { openNano: -releasedNano, spentNano: costNano, unconfirmedNano, calls, tokens }
    deps.spend.pay(row, hold?.row.id ?? null, change)
    if (row.runId !== null) {
      const [costUsd, unconfirmedUsd] = [usdFromNano(costNano), usdFromNano(unconfirmedNano)]
      deps.addRunCost(row.runId, {
        costUsd,
        tokens,
        unconfirmedUsd,
        unconfirmedTokens: sum.unconfirmedTokens,
        reportedTokens: sum.reportedTokens,
      })
    }
    if (costNano > 0) {
      const { agentId, project, day } = row
      deps.warnings?.afterSpending(limitsFor(deps, { agentId, project, run: null }, day))
    }
  }
}

function add(
  sums: Map<string, Sum>,
  key: string,
  { reservation, closing }: { readonly reservation: Reservation; readonly closing: SpendClosing },
): void {
  let sum = sums.get(key)
  if (!sum) {
    const { row, hold, openedAt } = reservation
    const nothing = {
      costNano: 0,
      unconfirmedNano: 0,
      unconfirmedTokens: 0,
      calls: 0,
      promptTokens: 0,
      completionTokens: 0,
      reportedTokens: 0,
    }
    sum = { row, hold, hour: utcHour(openedAt), ...nothing, cache: noCacheUse }
    sums.set(key, sum)
  }
  sum.costNano += closing.costNano
  if (closing.unconfirmed !== undefined) {
    sum.unconfirmedNano += closing.costNano
    sum.unconfirmedTokens += closing.promptTokens + closing.completionTokens
  }
  if (reservation.row.model === reportedModel)
    sum.reportedTokens += closing.promptTokens + closing.completionTokens
  sum.calls++
  sum.promptTokens += closing.promptTokens
  sum.completionTokens += closing.completionTokens
  if (closing.cache) sum.cache = addCacheUse(sum.cache, closing.cache)
}
