import type { RunCost } from '@flotilla/work/runs'
import type { Clock } from '@flotilla/protocol/clock'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import { checkSums } from './check-sums.ts'
import type { Differences } from './check-sums.ts'
import { usdFromNano } from './money.ts'
import { utcDay } from './sum-scopes.ts'
import type { SpendTable, SpendTotal } from './spend-table.ts'

/** What a start of the mesh found in the ledger of model costs. */
export interface SettledLedger {
  /** The number of open holds of previous processes, which are now settled in full. */
  readonly leftOpen: number
  /** The number of sums that differed from their rows and were corrected. */
  readonly corrected: number
  /** A description for people; null if nothing was corrected. */
  readonly words: string | null
}

interface SettleLedgerDeps {
  readonly database: Database
  readonly spend: SpendTable
  readonly clock: Clock
  readonly life: string
  readonly addRunCost: (runId: string, cost: RunCost) => void
  readonly journal?: Journal
  readonly log: Log
}

/** How many differences are listed one by one; the text also gives the number of all. */
const examplesMax = 10

/**
 * Corrects the ledger of model costs before anything is spent: makes the sums equal to their rows and reports the
 * differences, and settles in full what other processes did not close. It is one transaction: a kill leaves all of it
 * or nothing to do.
 */
export function settleLedger(deps: SettleLedgerDeps): SettledLedger {
  return deps.database.transaction(() => {
    const corrections = correctSums(deps)
    const rows = deps.spend.openRowsOfOthers(deps.life)
    let leftOpen = 0
    for (const row of rows) {
      if (!deps.spend.settleOpen(row, deps.clock.now())) continue
      leftOpen++
      if (row.runId === null) continue
      const costUsd = usdFromNano(row.reservedNano)
      deps.addRunCost(row.runId, { costUsd, tokens: 0, unconfirmedUsd: costUsd })
    }
    return { leftOpen, ...corrections }
  })
}

function correctSums(deps: SettleLedgerDeps): Omit<SettledLedger, 'leftOpen'> {
  const { database, clock, journal, log } = deps
  const differences = checkSums(database, utcDay(clock.now()))
  const corrected = differences.totals.length + differences.daily.length
  if (corrected === 0) return { corrected, words: null }
  const examples = examplesOf(differences)
  for (const { scope, period, fromRows } of differences.totals) {
    const { openNano, spentNano, unconfirmedNano, calls, tokens } = fromRows
    database.prepare(sql.total).run(scope, period, openNano, spentNano, unconfirmedNano, calls, tokens)
  }
  for (const { day, agentId, project, model, fromRows } of differences.daily) {
    const { costNano, unconfirmedNano, calls, promptTokens, completionTokens } = fromRows
    const sums = [costNano, unconfirmedNano, calls, promptTokens, completionTokens] as const
    database.prepare(sql.daily).run(day, agentId, project, model, ...sums)
  }
  log.error({ corrected, examples }, 'corrected sums of spending that differed from their rows')
  journal?.append({
    actor: 'system',
    action: 'spend.corrected',
    subject: 'spend',
    detail: { sums: corrected, examples },
  })
  return { corrected, words: differenceWords(differences) }
}

const sql = {
  total: `INSERT INTO spend_total (scope, period, open_nano, spent_nano, unconfirmed_nano, calls, tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (scope, period) DO UPDATE SET open_nano = excluded.open_nano, spent_nano = excluded.spent_nano,
      unconfirmed_nano = excluded.unconfirmed_nano, calls = excluded.calls, tokens = excluded.tokens`,
  daily: `INSERT INTO spend_daily (day, agent_id, project, model, cost_nano, unconfirmed_nano, calls,
      prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, agent_id, project, model) DO UPDATE SET cost_nano = excluded.cost_nano,
      unconfirmed_nano = excluded.unconfirmed_nano, calls = excluded.calls,
      prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens`,
} as const

/** Describes the differences in one sentence; null if all sums equal their rows. Pure. */
export function differenceWords(differences: Differences): string | null {
  const count = differences.totals.length + differences.daily.length
  if (count === 0) return null
  const examples = examplesOf(differences).slice(0, 3)
  return `${count} sums of money differed from their rows: ${examples.join('; ')}${count > 3 ? '; ...' : ''}`
}

function examplesOf({ totals, daily }: Differences): string[] {
  const examples = [
    ...totals.map(
      ({ scope, period, told: recorded, fromRows }) =>
        `${scope}${period === '' ? '' : ` ${period}`} was recorded as ${totalWords(recorded)}, and its rows sum up to ${totalWords(fromRows)}`,
    ),
    ...daily.map(
      ({ day, agentId, model, storedNano, fromRows }) =>
        `the report of ${day} for ${agentId} and ${model} was recorded as ${dollars(storedNano)}, and its rows sum up to ${dollars(fromRows.costNano)}`,
    ),
  ]
  return examples.slice(0, examplesMax)
}

function totalWords({ openNano, spentNano, calls }: SpendTotal): string {
  return `${dollars(openNano)} reserved, ${dollars(spentNano)} spent in ${calls} calls`
}

function dollars(nano: number): string {
  return `${usdFromNano(nano).toFixed(9)} USD`
}
