import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addBlackboardCommand(program: Command, deps: CliDeps): void {
  program
    .command('blackboard')
    .summary('what agents share')
    .description('Lists entries of the blackboard under a prefix; --json shows whole values.')
    .argument('[prefix]', 'only keys that start with it', '')
    .addHelpText('after', '\nExample:\n  $ flotilla blackboard output/')
    .action(commandAction(deps, blackboard))
}

async function blackboard(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (
    await context.mesh()
  ).call('blackboard', { query: { prefix: line.operands[0] ?? '' }, signal })
  terminal.printJson(reply)
  if (reply.entries.length === 0) return terminal.print('Nothing there.')
  terminal.print(
    ...renderTable(
      [
        { title: 'KEY' },
        { title: 'VERSION', align: 'right' },
        { title: 'BY' },
        { title: 'UPDATED (UTC)' },
        { title: 'VALUE' },
      ],
      reply.entries.map((entry) => [
        entry.key,
        `${entry.version}`,
        entry.written_by,
        formatTime(entry.updated_at),
        oneLine(typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value), 80),
      ]),
    ),
  )
}
