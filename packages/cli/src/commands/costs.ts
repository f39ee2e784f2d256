import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addCostsCommand(program: Command, deps: CliDeps): void {
  program
    .command('costs')
    .summary('spend and budgets by agent')
    .description('Shows what each agent has spent today and this month (UTC), and its budgets.')
    .action(commandAction(deps, costs))
}

async function costs(context: CommandContext): Promise<void> {
  const client = await context.mesh()
  const reply = await client.call('costs', { signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(
    ...renderTable(
      [
        { title: 'AGENT' },
        { title: 'TODAY', align: 'right' },
        { title: 'OF', align: 'right' },
        { title: 'MONTH', align: 'right' },
        { title: 'OF', align: 'right' },
        { title: 'CALLS', align: 'right' },
        { title: 'TOKENS', align: 'right' },
      ],
      reply.agents.map((agent) => [
        agent.agent_id,
        formatUsd(agent.today_usd),
        formatUsd(agent.budget.daily_usd),
        formatUsd(agent.month_usd),
        formatUsd(agent.budget.monthly_usd),
        `${agent.calls}`,
        `${agent.tokens}`,
      ]),
    ),
  )
}
