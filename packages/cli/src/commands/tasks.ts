import type { Command } from 'commander'
import { commandAction, numberOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { taskRows } from './fleet-rows.ts'

export function addTasksCommand(program: Command, deps: CliDeps): void {
  program
    .command('tasks')
    .summary('work that agents handed to each other')
    .description('Lists tasks, newest first.')
    .option('--agent <id>', 'only tasks of this agent')
    .option('--limit <count>', 'how many', wholeNumber(1, 500), 50)
    .action(commandAction(deps, tasks))
}

async function tasks(context: CommandContext, line: CommandLine): Promise<void> {
  const agent = textOption(line, 'agent')
  const client = await context.mesh()
  const reply = await client.call('tasks', {
    query: { limit: numberOption(line, 'limit') ?? 50, ...(agent === undefined ? {} : { agent }) },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.print(...(reply.tasks.length === 0 ? ['No tasks yet.'] : taskRows(reply.tasks)))
}
