import { usdFromNano } from './money.ts'
import { potsOf } from './pots.ts'
import type { GateParts, Reservation } from './reserve-settle.ts'
import type { Credit } from './credits.ts'
import type { SpendClosing, SpendRow } from './spend-table.ts'

/** A call that is over and not yet written. */
export interface Ended {
  readonly reservation: Reservation
  /** Null when it was refunded. */
  readonly closing: SpendClosing | null
  readonly andAlso: () => void
}

interface Sum {
  readonly row: SpendRow
  readonly credit: Credit | null
  costNano: number
  unconfirmedNano: number
  calls: number
  promptTokens: number
  completionTokens: number
}

/** Inside a transaction. Sums are written once for all calls of a run and day, and reports once per model. */
export function writeEnded(deps: GateParts, batch: readonly Ended[]): void {
  const closedAt = deps.clock.now()
  const byRun = new Map<string, Sum>()
  const byModel = new Map<string, Sum>()
  for (const { reservation, closing, andAlso } of batch) {
    const { row, openedAt, credit } = reservation
    deps.spend.enter(row, { openedAt, closedAt }, closing)
    deps.taskCalls.written(row.taskId)
    andAlso()
    if (closing === null) continue
    const run = `${row.agentId} ${row.runId} ${row.project} ${row.day} ${credit?.id}`
    add(byRun, run, { reservation, closing })
    add(byModel, `${run} ${row.model}`, { reservation, closing })
  }
  for (const sum of byModel.values()) deps.spend.report(sum)
  for (const sum of byRun.values()) {
    const { row, credit, costNano, unconfirmedNano, calls } = sum
    const releasedNano = credit ? deps.credits.release(credit, costNano) : 0
    const tokens = sum.promptTokens + sum.completionTokens
    const change = { openNano: -releasedNano, spentNano: costNano, unconfirmedNano, calls, tokens }
    deps.spend.pay(row, credit?.id ?? null, change)
    if (row.runId !== null) deps.addRunCost(row.runId, { costUsd: usdFromNano(costNano), tokens })
    if (costNano > 0) {
      const { agentId, project, day } = row
      deps.warnings?.look(potsOf(deps, { agentId, project, run: null }, day))
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
    const { row, credit } = reservation
    sum = { row, credit, costNano: 0, unconfirmedNano: 0, calls: 0, promptTokens: 0, completionTokens: 0 }
    sums.set(key, sum)
  }
  sum.costNano += closing.costNano
  if (closing.unconfirmed !== undefined) sum.unconfirmedNano += closing.costNano
  sum.calls++
  sum.promptTokens += closing.promptTokens
  sum.completionTokens += closing.completionTokens
}
