import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addTopicsCommands(program: Command, deps: CliDeps): void {
  program
    .command('topics')
    .description(
      'Lists topics with their subscribers. Agents subscribe and publish themselves, to the topics in can_subscribe and can_publish of their permission records.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla permissions set scout can_publish=builds\n  $ flotilla topics',
    )
    .action(commandAction(deps, topics))
  program
    .command('signals')
    .description('Shows the subscriptions of an agent and its newest unread signals.')
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla signals scout')
    .action(commandAction(deps, signals))
}

const titles = (...names: string[]) => names.map((title) => ({ title }))

async function topics(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('topicsView', { signal })
  terminal.printJson(reply)
  if (reply.topics.length === 0) return terminal.print('No topics yet.')
  const rows = reply.topics.map((one) => [
    one.topic,
    oneLine(one.subscribers.length === 0 ? 'none' : one.subscribers.join(', '), 80),
    String(one.signals),
    one.last_at === null ? '' : formatTime(one.last_at),
  ])
  terminal.print(...renderTable(titles('TOPIC', 'SUBSCRIBERS', 'KEPT', 'LAST (UTC)'), rows))
}

async function signals(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const id = operand(line, 0)
  const reply = await (await context.mesh()).call('signalsOf', { params: { id }, signal })
  terminal.printJson(reply)
  terminal.print(
    reply.topics.length === 0
      ? `${id} has no subscriptions.`
      : `${id} is subscribed to ${oneLine(reply.topics.join(', '), 200)}.`,
    reply.unread === 0 ? 'No unread signals.' : `${reply.unread} unread; the newest first:`,
  )
  const rows = reply.signals.map((one) => [formatTime(one.at), one.topic, one.from, oneLine(one.text, 100)])
  if (rows.length > 0) terminal.print(...renderTable(titles('SAID (UTC)', 'TOPIC', 'BY', 'TEXT'), rows))
}
