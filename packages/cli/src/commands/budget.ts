import type { BudgetScopeKind, BudgetView } from '@flotilla/protocol/money-api'
import { hintOfName } from '@flotilla/protocol/nearest-name'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { commandAction, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime, formatUsd } from '../terminal/format.ts'
import { budgetName, budgetRows } from './budget-rows.ts'

export function addBudgetCommand(program: Command, deps: CliDeps): void {
  program
    .command('budget')
    .description(
      'Shows budgets, or with options sets those of an agent, of a project (project:NAME) or of the fleet. A new limit applies from the next call. A call must fit into all budgets. Days and months are UTC. An agent may have USD 0.01 to 1000 a day and 0.10 to 30000 a month. The fleet has a daily limit from its first start until you remove it.',
    )
    .argument('[whose]', 'an agent, project:NAME, or fleet')
    .option('--daily <usd>', 'US dollars a day; none removes the limit of a project or the fleet', dollars)
    .option('--monthly <usd>', 'US dollars a month; none removes the limit', dollars)
    .option('--project <name>', 'charge the agent to this project too; none ends that')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla budget\n  $ flotilla budget scout --daily 5 --monthly 100\n  $ flotilla budget fleet --daily 50\n  $ flotilla budget scout --project acme\n  $ flotilla budget project:acme --monthly 300',
    )
    .action(commandAction(deps, budget))
}

const nameColumnsMax = 64

interface Named {
  readonly scope: BudgetScopeKind
  readonly id: string
}

async function budget(context: CommandContext, line: CommandLine): Promise<void> {
  const named = line.operands[0] === undefined ? null : readName(line.operands[0])
  const project = textOption(line, 'project')
  const edit = {
    ...period('daily_usd', line.options['daily']),
    ...period('monthly_usd', line.options['monthly']),
  }
  const edits = Object.keys(edit).length > 0
  if ((edits || project !== undefined) && named === null) {
    throw misused('name the budget: an agent, project:NAME, or fleet')
  }
  if (project !== undefined && named?.scope !== 'agent') {
    throw misused('only an agent is charged to a project')
  }
  const client = await context.mesh()
  const { signal } = context
  if (named && project !== undefined) {
    const body = { project: project === 'none' ? null : project }
    await client.call('agentProjectSet', { params: { id: named.id }, body, signal })
  }
  if (named && edits) {
    const view = await client.call('budgetSet', { body: { ...named, ...edit }, signal })
    if (project === undefined) {
      printBudgets(context, [view])
      context.terminal.note(...view.notices.map((notice) => `Note: ${notice}.`))
      return
    }
  }
  const { budgets } = await client.call('budgets', { signal })
  if (named === null) return printBudgets(context, budgets)
  const projects = named.scope === 'project' ? (await client.call('projects', { signal })).projects : []
  const names = projects.map(({ name }) => name)
  printBudgets(context, requireBudget(budgets, named, names))
}

/**
 * Returns the named budget alone. Throws CommandFailed if it does not exist: with the way to set it for one of
 * `projects`, else with the nearest name. Pure.
 */
export function requireBudget(
  budgets: readonly BudgetView[],
  named: Named,
  projects: readonly string[],
): readonly BudgetView[] {
  const found = budgets.filter(({ scope, id }) => scope === named.scope && id === named.id)
  if (found.length > 0) return found
  const name = `${named.scope} ${oneLine(named.id, nameColumnsMax)}`
  if (named.scope === 'project' && projects.includes(named.id))
    throw new CommandFailed('no-budget', {
      detail: `${name} has neither a budget nor agents.`,
      repair: `Set one with: flotilla budget project:${named.id} --monthly USD`,
    })
  const withBudget = budgets.filter(({ scope }) => scope === named.scope).map(({ id }) => id)
  const known = [...new Set([...withBudget, ...(named.scope === 'project' ? projects : [])])]
  throw misused(`there is no ${name}; ${hintOfName(named.id, known, `the ${named.scope}s are`)}`)
}

function printBudgets({ terminal }: CommandContext, budgets: readonly BudgetView[]): void {
  terminal.printJson({ budgets })
  terminal.print(...budgetRows(budgets, terminal.color))
  const [only] = budgets
  if (budgets.length !== 1 || !only) return
  const { daily, monthly } = only
  const open = daily.reserved_usd > 0 ? `, ${formatUsd(daily.reserved_usd)} is reserved for open calls` : ''
  terminal.print(
    `${budgetName(only)}: the day resets at ${formatTime(Date.parse(daily.resets_at))}, the month at ${formatTime(Date.parse(monthly.resets_at))} (UTC)${open}.`,
  )
}

/** Parses `fleet`, `project:acme` or `scout`; `agent:fleet` names an agent called `fleet`. */
function readName(text: string): Named {
  if (text === 'fleet') return { scope: 'fleet', id: '' }
  const [kind, id] = text.split(':')
  if (id === undefined) return { scope: 'agent', id: text }
  if ((kind === 'project' || kind === 'agent') && id !== '') return { scope: kind, id }
  throw misused(`${text} is not an agent, project:NAME or fleet`)
}

function misused(detail: string): CommandFailed {
  const repair = 'See flotilla budget --help; flotilla budget alone lists all.'
  return new CommandFailed('wrong-usage', { detail, repair, exitCode: exitCodes.usage })
}

/** Parses an amount; `none` stays a string because commander treats null as an option without a value. */
function dollars(text: string): number | 'none' {
  if (text === 'none') return text
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) {
    throw new InvalidArgumentError('Expected US dollars, such as 5 or 0.50, or none.')
  }
  return value
}

function period(
  field: 'daily_usd' | 'monthly_usd',
  value: unknown,
): Partial<Record<typeof field, number | null>> {
  if (value === 'none') return { [field]: null }
  return typeof value === 'number' ? { [field]: value } : {}
}
