import type { DailyFact, Facts, Finding, MoneyFacts, SpendFact, TotalFact } from '../facts.ts'

/** Checks the sums of money that hold at any time, also while calls are open. */
export function checkTotals({ spend, totals, daily }: MoneyFacts): Finding[] {
  const expected = sumsOf(spend)
  const keys = new Set([...expected.keys(), ...totals.map(keyOf)])
  const byKey = new Map(totals.map((total) => [keyOf(total), total]))
  return [
    ...[...keys].flatMap((key) => compare(key, byKey.get(key), expected.get(key))),
    ...totals
      .filter(({ openNano, spentNano }) => openNano < 0 || spentNano < 0)
      .map((total) =>
        finding('negative-total', `${keyOf(total)} stands below nothing`, [JSON.stringify(total)]),
      ),
    ...checkDaily(spend, daily),
  ]
}

/** Checks the money at the end: nothing is reserved any more, and everything that the provider billed is booked. */
export function checkMoney(facts: Facts): Finding[] {
  const { spend } = facts.money
  return [
    ...checkTotals(facts.money),
    ...spend
      .filter(({ state }) => state === 'open')
      .map((row) => finding('open-hold', 'money is still set aside', [JSON.stringify(row)])),
    ...checkBilled(facts),
    ...checkRunCosts(facts),
  ]
}

type Sum = Pick<TotalFact, 'openNano' | 'spentNano' | 'calls'>

function sumsOf(spend: readonly SpendFact[]): Map<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const row of spend) {
    const month = row.day.slice(0, 7)
    const scopes = [
      ['fleet', row.day],
      ['fleet', month],
      [`agent:${row.agentId}`, row.day],
      [`agent:${row.agentId}`, month],
      ...(row.project === null
        ? []
        : [
            [`project:${row.project}`, row.day],
            [`project:${row.project}`, month],
          ]),
      ...(row.runId === null ? [] : [[`run:${row.runId}`, '']]),
      ...(row.taskId === null ? [] : [[`task:${row.taskId}`, '']]),
    ]
    const settled = row.state === 'settled'
    for (const [scope = '', period = ''] of scopes) {
      const key = keyOf({ scope, period })
      const sum = sums.get(key) ?? { openNano: 0, spentNano: 0, calls: 0 }
      sums.set(key, {
        openNano: sum.openNano + (row.state === 'open' ? row.reservedNano : 0),
        spentNano: sum.spentNano + (settled ? row.costNano : 0),
        calls: sum.calls + (settled ? 1 : 0),
      })
    }
  }
  return sums
}

function compare(key: string, total: Sum | undefined, rows: Sum | undefined): Finding[] {
  const nothing: Sum = { openNano: 0, spentNano: 0, calls: 0 }
  const told = total ?? nothing
  const sum = rows ?? nothing
  const fields = ['openNano', 'spentNano', 'calls'] as const
  const wrong = fields.filter((field) => told[field] !== sum[field])
  if (wrong.length === 0) return []
  const evidence = wrong.map((field) => `${field}: the total says ${told[field]}, the rows ${sum[field]}`)
  return [finding('total-not-its-rows', `the total of ${key} is not the sum of its rows`, evidence)]
}

function checkDaily(spend: readonly SpendFact[], daily: readonly DailyFact[]): Finding[] {
  const paid = spend.filter(({ state }) => state === 'settled')
  const days = new Set([...paid, ...daily].map(({ day, agentId }) => `${day} ${agentId}`))
  return [...days].flatMap((key) => {
    const own = (one: { readonly day: string; readonly agentId: string }) =>
      `${one.day} ${one.agentId}` === key
    const rows = costOf(paid.filter(own))
    const told = costOf(daily.filter(own))
    if (rows === told) return []
    return [
      finding('report-not-its-rows', `the report of ${key} is not the sum of its rows`, [
        `the report says ${told}, the rows ${rows}`,
      ]),
    ]
  })
}

/**
 * Checks that each billed answer is booked once, or is covered by the unconfirmed costs of its conversation. The
 * provider knows only the conversation of an answer, not which of its runs asked.
 */
function checkBilled({ billed, money, runs }: Facts): Finding[] {
  const talks = talksOfPlans(runs)
  const markers = new Map(runs.map(({ id, talksOf }) => [id, talks.get(talksOf ?? '') ?? 'none']))
  const markerOf = ({ runId }: SpendFact) => markers.get(runId ?? '') ?? 'none'
  const numbers = new Set(billed.map(({ number }) => number))
  const paid = money.spend.filter(({ state }) => state === 'settled')
  const isConfirmed = ({ promptTokens, unconfirmed }: SpendFact) =>
    unconfirmed === null && numbers.has(promptTokens)
  const rows = Map.groupBy(paid.filter(isConfirmed), ({ promptTokens }) => promptTokens)
  const twice = [...rows]
    .filter(([, found]) => found.length > 1)
    .map(([number, found]) =>
      finding(
        'booked-twice',
        `the answer ${number} was booked ${found.length} times`,
        found.map(({ id, runId }) => `${id} of ${runId}`),
      ),
    )
  const unconfirmed = Map.groupBy(
    paid.filter((row) => !isConfirmed(row)),
    markerOf,
  )
  const missing = Map.groupBy(
    billed.filter(({ number }) => !rows.has(number)),
    ({ marker }) => talks.get(marker ?? '') ?? 'none',
  )
  const unpaid = [...missing].flatMap(([marker, answers]) => {
    const wanted = costOf(answers)
    const booked = costOf(unconfirmed.get(marker) ?? [])
    if (wanted <= booked) return []
    const names = answers.map(({ number, whole }) => `answer ${number}${whole ? '' : ', cut off'}`)
    return [
      finding('billed-not-booked', `of ${marker}, ${wanted - booked} nano-dollars were never booked`, [
        `billed ${wanted} beside what is confirmed, booked ${booked}`,
        ...names,
        ...money.spend
          .filter((row) => markerOf(row) === marker)
          .map(
            (row) =>
              `${row.id} of ${row.runId} is ${row.state}, ${row.costNano} for ${row.promptTokens} tokens`,
          ),
      ]),
    ]
  })
  return [...twice, ...unpaid]
}

/**
 * The conversation of each plan, under the name of its first plan. The history of a later run in a conversation has
 * the plans of earlier ones, and a run that is executed again after a kill has those of later ones.
 */
function talksOfPlans(runs: Facts['runs']): ReadonlyMap<string, string> {
  const first = new Map<string, string>()
  const talks = new Map<string, string>()
  for (const { conversation, talksOf } of runs) {
    if (talksOf === null) continue
    const name = talks.get(talksOf) ?? first.get(conversation) ?? talksOf
    if (!first.has(conversation)) first.set(conversation, name)
    if (!talks.has(talksOf)) talks.set(talksOf, name)
  }
  return talks
}

/** The cost in a row of `runs` equals the sum of its spend rows, within the rounding of a fraction. */
function checkRunCosts({ runs, money }: Facts): Finding[] {
  const byRun = Map.groupBy(money.spend, ({ runId }) => runId ?? '')
  return runs.flatMap((run) => {
    const rows = costOf(byRun.get(run.id) ?? [])
    const told = run.costUsd * 1e9
    if (Math.abs(rows - told) <= 1) return []
    return [finding('run-cost', `${run.id} says ${told} nano-dollars, its rows ${rows}`, [])]
  })
}

function costOf(rows: readonly { readonly costNano: number }[]): number {
  return rows.reduce((sum, { costNano }) => sum + costNano, 0)
}

function keyOf({ scope, period }: { readonly scope: string; readonly period: string }): string {
  return period === '' ? scope : `${scope} ${period}`
}

function finding(check: string, what: string, evidence: readonly string[]): Finding {
  return { check, what, evidence }
}
