import { upTo } from '@flotilla/protocol/up-to'
import { cacheHitRate, costDaysMax, costKeys, hasCacheUse, isUnpriced } from '@flotilla/protocol/money-api'
import type { CostKey } from '@flotilla/protocol/money-api'
import type { Reply } from '@flotilla/client/mesh-call'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, numberOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { condensed, shareBar, sparkline } from '../terminal/bars.ts'
import { formatCount, formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import { budgetRows } from './budget-rows.ts'
import { freeHereWords } from './models.ts'

const daysDefault = 30
const sparkColumnsMax = 30
const shareColumns = 10

export function addCostsCommand(program: Command, deps: CliDeps): void {
  program
    .command('costs')
    .description(
      'Shows the cost of model calls in the last days (UTC), most expensive first, and how much of the budgets is used. Includes deleted agents.',
    )
    .addOption(new Option('--by <what>', 'how to group the costs').choices(costKeys).default('agent'))
    .option('--days <number>', 'how many days, including today', wholeNumber(1, costDaysMax), daysDefault)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla costs\n  $ flotilla costs --by model --days 7\n  $ flotilla costs --by day --json | jq ".rows[-1].usd"',
    )
    .action(commandAction(deps, costs))
}

async function costs(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const by = costKeys.find((key) => key === textOption(line, 'by')) ?? 'agent'
  const query = { by, days: numberOption(line, 'days') ?? daysDefault }
  const report = await client.call('costReport', { query, signal: context.signal })
  const { budgets } = await client.call('budgets', { signal: context.signal })
  const { models } = await client.call('models', { signal: context.signal })
  const { terminal } = context
  terminal.printJson({ ...report, budgets })
  terminal.print(
    `${report.from} to ${report.to} (UTC): ${upTo(formatUsd(report.total.usd), report.total.unconfirmed_usd)}, ${formatCount(report.total.calls, 'call')}, ${report.total.prompt_tokens} tokens in, ${upTo(`${report.total.completion_tokens}`, report.total.unconfirmed_usd)} out`,
    ...cacheWords(report.total),
    ...unconfirmedWords(report.total.unconfirmed_usd),
    ...reportedWords(report.total.reported_tokens),
    '',
  )
  if (report.rows.length > 0) terminal.print(...costTable(report), '')
  terminal.print(...budgetRows(budgets.filter(isShown), terminal.color))
  terminal.print(...freeHereWords(models))
}

/** Returns a note on the use of providers' prompt caches; empty if no cache was used. */
function cacheWords(total: Reply<'costReport'>['total']): string[] {
  if (!hasCacheUse(total)) return []
  const { read_tokens: read, written_tokens: written, ...usd } = total.cache
  const verdict =
    usd.saved_usd < 0
      ? `Prompt caches cost ${formatUsd(-usd.saved_usd)} more than they saved`
      : `Saved by prompt caches: ${formatUsd(usd.saved_usd)}`
  return [
    `${verdict}. ${read} tokens read (${percent(cacheHitRate(total))} of the tokens in) for ${formatUsd(usd.read_usd)}, ${written} written for ${formatUsd(usd.written_usd)}.`,
  ]
}

/** A note on unconfirmed costs, if there are any. Budgets count them as spent. */
function unconfirmedWords(usd: number): string[] {
  if (usd === 0) return []
  return [
    `Of that ${formatUsd(usd)} is unconfirmed: calls that were interrupted, or open when the mesh was killed, are booked at their maximum cost. The provider may charge less.`,
  ]
}

/** A note on tokens that harnesses reported, if there are any. */
function reportedWords(tokens: number): string[] {
  if (tokens === 0) return []
  return [
    `Of that ${formatCount(tokens, 'token')} reported by the harness, unpriced: these calls did not go through the mesh, so no budget in dollars counts them.`,
  ]
}

/** True if the table shows this budget: an agent's with spend this month, or another one with a limit. */
function isShown(budget: Reply<'budgets'>['budgets'][number]): boolean {
  if (budget.scope === 'agent') return budget.monthly.spent_usd > 0 || budget.monthly.reserved_usd > 0
  return budget.daily.limit_usd !== null || budget.monthly.limit_usd !== null
}

const titles: Readonly<Record<CostKey, string>> = {
  agent: 'AGENT',
  project: 'PROJECT',
  model: 'MODEL',
  kind: 'KIND OF RUN',
  day: 'DAY',
  hour: 'HOUR (UTC)',
}

export function costTable(report: Reply<'costReport'>): string[] {
  // Shares of money say nothing where all calls are free.
  const isFree = isFreeOfCharge(report.total)
  const amountOf = isFree ? tokensOf : ({ usd }: { readonly usd: number }) => usd
  const largest = Math.max(...report.rows.map(amountOf))
  const isUnsure = report.total.unconfirmed_usd > 0
  const isCached = hasCacheUse(report.total)
  const isReported = report.total.reported_tokens > 0
  const overTime = !isFree && report.by !== 'day' && report.rows.some((row) => row.daily_usd.length > 1)
  return renderTable(
    [
      { title: titles[report.by] },
      { title: 'SPENT', align: 'right' },
      ...(isUnsure ? [{ title: 'UNCONFIRMED', align: 'right' as const }] : []),
      { title: isFree ? 'SHARE OF TOKENS' : 'SHARE' },
      { title: 'CALLS', align: 'right' },
      { title: 'TOKENS IN', align: 'right' },
      { title: 'OUT', align: 'right' },
      ...(isCached
        ? [
            { title: 'CACHED', align: 'right' as const },
            { title: 'SAVED', align: 'right' as const },
          ]
        : []),
      ...(isReported ? [{ title: 'UNPRICED', align: 'right' as const }] : []),
      ...(overTime ? [{ title: 'OVER THE DAYS' }] : []),
    ],
    report.rows.map((row) => [
      row.key === '' ? '(none)' : row.key,
      isUnpriced(row)
        ? 'unpriced'
        : isFreeOfCharge(row)
          ? 'free'
          : upTo(formatUsd(row.usd), row.unconfirmed_usd),
      ...(isUnsure ? [row.unconfirmed_usd > 0 ? formatUsd(row.unconfirmed_usd) : ''] : []),
      share(amountOf(row), report.by === 'day' ? largest : amountOf(report.total)),
      `${row.calls}`,
      `${row.prompt_tokens}`,
      `${row.completion_tokens}`,
      ...(isCached ? [percent(cacheHitRate(row)), formatUsd(row.cache.saved_usd)] : []),
      ...(isReported ? [row.reported_tokens > 0 ? `${row.reported_tokens}` : ''] : []),
      ...(overTime ? [sparkline(condensed(row.daily_usd, sparkColumnsMax))] : []),
    ]),
  )
}

/** A call that failed before it used a token costs nothing either, and its model may have a price. */
function isFreeOfCharge(row: Parameters<typeof tokensOf>[0] & { readonly usd: number }): boolean {
  return row.usd === 0 && tokensOf(row) > 0
}

function tokensOf(row: { readonly prompt_tokens: number; readonly completion_tokens: number }): number {
  return row.prompt_tokens + row.completion_tokens
}

function share(amount: number, of: number): string {
  const part = of > 0 ? amount / of : 0
  return `${shareBar(part, shareColumns)} ${percent(part).padStart(5)}`
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`
}
