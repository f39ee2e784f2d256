import type { MessageView } from '@flotilla/protocol/message-api'
import type { Command } from 'commander'
import { commandAction, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addMessagesCommand(program: Command, deps: CliDeps): void {
  program
    .command('messages')
    .description(
      'Lists messages between agents, newest first. An agent may send messages to the agents in can_message of its permission record. A message in the state kept waits for the next heartbeat of the operator.',
    )
    .argument('[agent]', 'only messages from or to this agent')
    .option('--limit <count>', 'how many', wholeNumber(1, 200), 50)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla permissions set scout can_message=auditor\n  $ flotilla messages scout --limit 5',
    )
    .action(commandAction(deps, messages))
}

const titles = (...names: string[]) => names.map((title) => ({ title }))

async function messages(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const agent = line.operands[0]
  const query = { limit: numberOption(line, 'limit') ?? 50, ...(agent === undefined ? {} : { agent }) }
  const reply = await (await context.mesh()).call('messages', { query, signal })
  terminal.printJson(reply)
  if (reply.messages.length === 0) return terminal.print('No messages yet.')
  const rows = reply.messages.map((one) => [
    formatTime(one.created_at),
    one.from,
    one.capability === null ? one.to : `${one.to} (${one.capability})`,
    stateOf(one),
    oneLine(one.text, 60),
    oneLine(one.answer?.text ?? '', 60),
  ])
  terminal.print(...renderTable(titles('SENT (UTC)', 'FROM', 'TO', 'STATE', 'TEXT', 'ANSWER'), rows))
}

function stateOf({ state, answer }: MessageView): string {
  return answer === null || answer.state === 'done' ? state : `${state} (${answer.state})`
}
