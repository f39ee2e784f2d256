import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { requireAgent } from '../require-agent.ts'
import { oneLine, printable } from '../terminal/color.ts'
import { formatTime, formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import { addWorkerOptions, createWorker } from './create.ts'
import { stateOf } from './fleet-rows.ts'

const roleColumnsMax = 200

export function addAgentsCommands(program: Command, deps: CliDeps): void {
  program
    .command('agents')
    .description('Lists the agents of the fleet with their roles, or shows one of them.')
    .argument('[agent]', 'id of one agent')
    .addHelpText('after', '\nExamples:\n  $ flotilla agents\n  $ flotilla agents auditor')
    .action(commandAction(deps, agents))
  const agent = program
    .command('agent')
    .description(
      'Adds agents; without a verb it lists them, as flotilla agents does. flotilla edit changes one.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla agent add auditor --role "Reads contracts."')
    .action(commandAction(deps, agents))
  addWorkerOptions(
    agent
      .command('add')
      .summary('create a worker')
      .description('Creates a worker. It starts when its first work arrives.')
      .argument('<agent>', 'its id: 1 to 64 of A-Z a-z 0-9 _ -')
      .requiredOption('--role <text>', 'what it is for, in one or two sentences'),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla agent add auditor --role "Reads contracts."
  $ flotilla agent add scout --role "Looks things up." --model openai/gpt-5-mini --daily 2 --monthly 20`,
    )
    .action(
      commandAction(deps, (context, line) =>
        createWorker(context, line, { id: line.operands[0] ?? '', role: String(line.options['role']) }),
      ),
    )
}

async function agents(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const [id] = line.operands
  if (id !== undefined) await requireAgent(context, client, id)
  const reply = await client.call('status', { signal })
  const found = id === undefined ? reply.agents : reply.agents.filter((agent) => agent.id === id)
  terminal.printJson(id === undefined ? { agents: found } : found[0])
  if (id === undefined) terminal.print(...roleRows(found))
  else terminal.print(...found.flatMap((agent) => agentLines(agent)))
}

/** Agents as a table of lines. Pure except for the width of the terminal. */
function roleRows(found: readonly AgentView[]): string[] {
  return renderTable(
    [{ title: 'AGENT' }, { title: 'STATE' }, { title: 'MODEL' }, { title: 'ROLE', columnsMax: 60 }],
    found.map((agent) => [agent.id, stateOf(agent), agent.model, oneLine(agent.role, roleColumnsMax)]),
  )
}

/** One agent as lines. Pure. */
function agentLines(agent: AgentView): string[] {
  return [
    `${agent.id}, ${agent.kind}: ${oneLine(agent.role, roleColumnsMax)}`,
    `model      ${agent.model}`,
    `state      ${stateOf(agent)}${agent.state_since === null ? '' : ` since ${formatTime(agent.state_since)} UTC`}`,
    `work       ${agent.queued} queued, ${agent.waiting} waiting`,
    `spent      ${formatUsd(agent.cost_today_usd)} today of ${formatUsd(agent.budget.daily_usd)}, ${formatUsd(agent.budget.monthly_usd)} a month`,
    ...isolationLines(agent),
    ...(agent.paused === null ? [] : [`paused     ${printable(agent.paused)}`]),
    ...(agent.waits_for === null ? [] : [`waits for  ${oneLine(agent.waits_for, roleColumnsMax)}`]),
    ...(agent.last_error === null ? [] : [`last error ${oneLine(agent.last_error, roleColumnsMax)}`]),
  ]
}

function isolationLines({ isolation }: AgentView): readonly string[] {
  const { wanted, required, runs_on: runsOn, fallback } = isolation
  if (wanted === 'container' && fallback === null) return []
  const wish = wanted === required ? `${wanted}, required` : wanted
  const now = runsOn === null ? '' : runsOn === wanted ? ', runs on it' : `, runs on ${runsOn}`
  return [`isolation  ${wish}${now}${fallback === null ? '' : `: ${oneLine(fallback, roleColumnsMax)}`}`]
}
