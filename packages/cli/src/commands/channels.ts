import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { renderTable } from '../terminal/table.ts'

export function addChannelsCommand(program: Command, deps: CliDeps): void {
  const channels = program
    .command('channels')
    .description(
      'Chat platforms on which people talk to agents. What is said there is work as any other; approvals, credentials and permissions are never given there.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla channels\n  $ flotilla channels pair webhook')
  channels
    .command('list', { isDefault: true })
    .summary('each channel, how it is, and what to do about it')
    .description('Lists the channels that there are, their state, the last trouble and its repair.')
    .addHelpText('after', '\nExample:\n  $ flotilla channels list')
    .action(commandAction(deps, list))
  channels
    .command('pair')
    .summary('print the code by which you are known on a channel')
    .description(
      'Prints a code that holds for ten minutes and opens once. Whoever sends it to the bot, alone with it, is known as you there. Others are let in with: flotilla people link',
    )
    .argument('<channel>', 'as flotilla channels shows it')
    .addHelpText('after', '\nExample:\n  $ flotilla channels pair webhook')
    .action(commandAction(deps, pair))
}

const columns = ['CHANNEL', 'STATE', 'PEOPLE', 'WAITING'].map((title) => ({ title }))

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('channels', { signal })
  terminal.printJson(reply)
  terminal.print(...renderTable(columns, reply.channels.map(row)))
  for (const { name, detail, repair } of reply.channels) {
    if (detail === '' && repair === '') continue
    terminal.print(`${name}: ${[detail, repair].filter((part) => part !== '').join('. ')}`)
  }
}

function row({ name, state, people, waiting }: ChannelView): string[] {
  return [name, state, String(people), String(waiting)]
}

async function pair(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const name = operand(line, 0)
  const reply = await (await context.mesh()).call('channelPair', { params: { name }, signal })
  terminal.printJson(reply)
  terminal.print(
    reply.code,
    `Send it to the bot on ${name}, alone with it, within ten minutes: who sends it first is known as you there.`,
  )
}
