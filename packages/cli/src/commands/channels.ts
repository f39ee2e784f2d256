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
      'Chat platforms on which people talk to agents. What is said there is work as any other; approvals, credentials and permissions are never given there.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla channels\n  $ flotilla channels add telegram')
  channels
    .command('list', { isDefault: true })
    .summary('each channel, how it is, and what to do about it')
    .description(
      'Lists the channels that there are, their state, who is known there, the last trouble and its repair.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla channels list')
    .action(commandAction(deps, list))
  channels
    .command('add')
    .summary('connect a chat platform, and pair yourself with it')
    .description(
      'Asks for the tokens without showing them, has the platform say that it knows them, keeps them as credentials of the mesh, and prints the code by which you are known there. Without a terminal nothing is asked: the tokens are read from standard input, one a line, or as NAME=VALUE. Given again, it replaces the tokens that are kept.',
    )
    .argument('<channel>', platforms)
    .option('--answers-to <url>', 'of the webhook channel: where what people are told is posted')
    .option('--wait', 'wait until the code was shown, also where nobody watches')
    .option('--no-wait', 'print the code and go')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla channels add telegram\n  $ flotilla channels add telegram < token-file\n  $ flotilla channels add webhook --answers-to http://127.0.0.1:3000/flotilla',
    )
    .action(commandAction(deps, add))
  channels
    .command('notices')
    .summary('what owners are told unasked, where, and at which hours not')
    .description(
      'Shows what owners are told without having asked, on which channels, and the quiet hours until whose end it waits; with an option it sets that, and the rest stays. Owners are told alone with the bot, where they spoke to it before.',
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
    .summary('print the code by which you are known on a channel')
    .description(
      'Prints a code that holds for ten minutes and opens once. Whoever sends it to the bot, alone with it, is known as you there. Others are let in with: flotilla people link',
    )
    .argument('<channel>', 'as flotilla channels shows it')
    .option('--wait', 'wait until the code was shown')
    .addHelpText('after', '\nExample:\n  $ flotilla channels pair webhook')
    .action(commandAction(deps, pair))
  channels
    .command('remove')
    .summary('switch a channel off, and forget its tokens')
    .description(
      'Switches a channel off at once and forgets its tokens. What waited to be told there is not told. Who was known there stays known, should it be added again: flotilla people unlink takes them away.',
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
  terminal.progress.step(
    name === 'webhook' ? 'Switching the channel on' : `Asking ${name} whether it knows the tokens`,
  )
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
    terminal.print(`${field}, made for it and shown this once:`, value)
  }
  if (name === 'whatsapp') terminal.hint(channel.repair === '' ? whatsAppNext : channel.repair)
  if (pairing === null) return terminal.print('An owner is known there already.')
  tellCode(context, name, pairing.code)
  if (channel.state !== 'connected') {
    terminal.hint(
      `It is not connected yet (${channel.detail || channel.state}): send the code when flotilla channels says so.`,
    )
  }
  const { wait } = line.options
  if (flagOption(line, 'wait') || (wait !== false && isAsking(context))) await tellPaired(context, name)
}

const whatsAppNext =
  'Give Meta the call-back https://HOST/channel/whatsapp with the verify token, and subscribe to messages.'

async function pair(context: CommandContext, line: CommandLine): Promise<void> {
  const { channelNamed } = await import('./channel-values.ts')
  const { terminal, signal } = context
  const name = channelNamed(operand(line, 0))
  const reply = await (await context.mesh()).call('channelPair', { params: { name }, signal })
  terminal.printJson(reply)
  tellCode(context, name, reply.code)
  if (flagOption(line, 'wait')) await tellPaired(context, name)
}

function tellCode({ terminal }: CommandContext, name: ChannelName, code: string): void {
  terminal.print(
    code,
    `${name === 'webhook' ? 'Have it sent as the words of a message of yours' : `Send it to the bot on ${name}, alone with it,`} within ten minutes: who sends it first is known as you there.`,
  )
}

async function tellPaired(context: CommandContext, name: ChannelName): Promise<void> {
  const { waitForPairing } = await import('./wait-for-pairing.ts')
  const who = await waitForPairing(context, name)
  context.terminal.print(`You are known on ${name}: ${who}.`)
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const params = { name: operand(line, 0) }
  const reply = await (await context.mesh()).call('channelRemove', { params, signal })
  terminal.printJson(reply)
  const dropped = reply.dropped === 0 ? '' : ` ${reply.dropped} messages that waited are not told.`
  terminal.print(`${reply.removed} is off, and its tokens are forgotten.${dropped}`)
}
