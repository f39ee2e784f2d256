import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Command } from 'commander'
import { commandAction, flagOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { renderTable } from '../terminal/table.ts'

const platforms = 'telegram, discord, slack, whatsapp or webhook'

export function addChannelsCommand(program: Command, deps: CliDeps): void {
  const channels = program
    .command('channels')
    .description(
      'Chat platforms on which people talk to agents. A message there starts a run like any other. Approvals, credentials and permissions can never be given there.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla channels\n  $ flotilla channels add telegram')
  channels
    .command('list', { isDefault: true })
    .summary('each channel, its state, and its repair')
    .description(
      'Lists the channels with their state, the people paired there, the last error and its repair.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla channels list')
    .action(commandAction(deps, list))
  channels
    .command('add')
    .summary('connect a chat platform, and pair yourself with it')
    .description(
      'Asks for the tokens without showing them, verifies them with the platform, stores them as credentials of the mesh, and prints a pairing code. Without a terminal, the tokens are read from standard input, one a line, or as NAME=VALUE. Run it again to replace the tokens.',
    )
    .argument('<channel>', platforms)
    .option('--answers-to <url>', 'of the webhook channel: the URL that replies and notices are posted to')
    .option('--wait', 'wait until the code is used, also without a terminal')
    .option('--no-wait', 'print the code and exit')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla channels add telegram\n  $ flotilla channels add telegram < token-file\n  $ flotilla channels add webhook --answers-to http://127.0.0.1:3000/flotilla',
    )
    .action(commandAction(deps, add))
  channels
    .command('notices')
    .summary('which notices owners receive, where, and their quiet hours')
    .description(
      'Shows which notices owners receive, on which channels, and the quiet hours during which notices wait. An option changes that setting only. Notices are sent to private chats with the bot, to owners who have written to it before.',
    )
    .option('--to <channels>', `with commas: ${platforms}; or none`)
    .option('--about <kinds>', 'with commas: notes, approvals, budgets or tasks; or none')
    .option('--quiet-hours <from-until>', 'such as 22:00-07:00, by the clock of the mesh; or none')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla channels notices\n  $ flotilla channels notices --to telegram --about approvals,budgets --quiet-hours 22:00-07:00',
    )
    .action(commandAction(deps, notices))
  channels
    .command('pair')
    .summary('print a code that pairs you with a channel')
    .description(
      'Prints a code that is valid for ten minutes and works once. The account that sends it to the bot in a private chat is paired with you. To add other people: flotilla people link',
    )
    .argument('<channel>', 'as flotilla channels shows it')
    .option('--wait', 'wait until the code is used')
    .addHelpText('after', '\nExample:\n  $ flotilla channels pair webhook')
    .action(commandAction(deps, pair))
  channels
    .command('remove')
    .summary('switch a channel off, and delete its tokens')
    .description(
      'Switches a channel off immediately and deletes its tokens. Waiting messages are not sent. People paired there stay paired in case the channel is added again; flotilla people unlink removes them.',
    )
    .argument('<channel>', platforms)
    .addHelpText('after', '\nExample:\n  $ flotilla channels remove telegram')
    .action(commandAction(deps, remove))
}

const columns = ['CHANNEL', 'STATE', 'PEOPLE', 'WAITING'].map((title) => ({ title }))

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('channels', { signal })
  terminal.printJson(reply)
  terminal.print(...renderTable(columns, reply.channels.map(row)))
  for (const { name, detail, repair } of reply.channels) {
    if (detail === '' && repair === '') continue
    terminal.hint(`${name}: ${[detail, repair].filter((part) => part !== '').join('. ')}`)
  }
}

function row({ name, state, linked, waiting }: ChannelView): string[] {
  const people = [...new Set(linked.map(({ person }) => person))]
  return [name, state, people.length === 0 ? '-' : people.join(', '), String(waiting)]
}

async function notices(context: CommandContext, line: CommandLine): Promise<void> {
  const { showNotices } = await import('./channel-notices.ts')
  await showNotices(context, line)
}

async function add(context: CommandContext, line: CommandLine): Promise<void> {
  const { channelNamed, isAsking, readChannelValues } = await import('./channel-values.ts')
  const { terminal, signal } = context
  const name = channelNamed(operand(line, 0))
  const client = await context.mesh()
  const values = await readChannelValues(context, name)
  const answersTo = textOption(line, 'answersTo')
  terminal.progress.step(name === 'webhook' ? 'Switching the channel on' : `Checking the tokens with ${name}`)
  const added = await client
    .call('channelAdd', {
      params: { name },
      body: { values, ...(answersTo === undefined ? {} : { answers_to: answersTo }) },
      signal,
    })
    .catch((error: unknown) => {
      terminal.progress.fail()
      throw error
    })
  terminal.progress.done()
  const { account, made, channel } = added
  const pairing = channel.linked.some(({ role }) => role === 'owner')
    ? null
    : await client.call('channelPair', { params: { name }, signal })
  terminal.printJson({ ...added, pairing })
  terminal.print(account === '' ? `${name} is on.` : `${name} is on, as ${account}.`)
  for (const [field, value] of Object.entries(made)) {
    terminal.print(`${field}, generated and shown only once:`, value)
  }
  if (name === 'whatsapp') terminal.hint(channel.repair === '' ? whatsAppNext : channel.repair)
  if (pairing === null) return terminal.print('An owner is already paired on this channel.')
  printCode(context, name, pairing.code)
  if (channel.state !== 'connected') {
    terminal.hint(
      `The channel is not connected yet (${channel.detail || channel.state}): send the code when flotilla channels shows the channel as connected.`,
    )
  }
  const { wait } = line.options
  if (flagOption(line, 'wait') || (wait !== false && isAsking(context))) await printPaired(context, name)
}

const whatsAppNext =
  'At Meta, set the callback URL https://HOST/channel/whatsapp with the verify token, and subscribe to messages.'

async function pair(context: CommandContext, line: CommandLine): Promise<void> {
  const { channelNamed } = await import('./channel-values.ts')
  const { terminal, signal } = context
  const name = channelNamed(operand(line, 0))
  const reply = await (await context.mesh()).call('channelPair', { params: { name }, signal })
  terminal.printJson(reply)
  printCode(context, name, reply.code)
  if (flagOption(line, 'wait')) await printPaired(context, name)
}

function printCode({ terminal }: CommandContext, name: ChannelName, code: string): void {
  terminal.print(
    code,
    `${name === 'webhook' ? 'Send the code as the text of a message from you' : `Send the code to the bot on ${name} in a private chat`} within ten minutes. The account that sends it first is paired with you.`,
  )
}

async function printPaired(context: CommandContext, name: ChannelName): Promise<void> {
  const { waitForPairing } = await import('./wait-for-pairing.ts')
  const who = await waitForPairing(context, name)
  context.terminal.print(`You are paired on ${name}: ${who}.`)
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const params = { name: operand(line, 0) }
  const reply = await (await context.mesh()).call('channelRemove', { params, signal })
  terminal.printJson(reply)
  const dropped = reply.dropped === 0 ? '' : ` ${reply.dropped} waiting messages are not sent.`
  terminal.print(`${reply.removed} is off, and its tokens are deleted.${dropped}`)
}
