import { channelIdentities, channelNames, peopleLimits, personRoles } from '@flotilla/protocol/people'
import type { PersonRole } from '@flotilla/protocol/people'
import type { PersonView } from '@flotilla/protocol/people-api'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { renderTable } from '../terminal/table.ts'

const roleWords = `
viewer  looks and changes nothing
member  looks, and works with the agents of --agents: chats, edits their texts, restarts them, lowers their budgets
owner   everything: credentials, permissions, more money, people and what waits for a person are theirs alone`

const identityWords = `
An identity is how somebody is known without a token. Each belongs to one person.
${[
  ['user:1001', 'an account of this machine'],
  ['local, session', 'of owners: this machine, and the cookie of a hosted mesh'],
  ...channelNames.map((name) => [channelIdentities[name].example, channelIdentities[name].words] as const),
]
  .map(([example = '', words = '']) => `${example.padEnd(28)}${words}`)
  .join('\n')}`

export function addPeopleCommand(program: Command, deps: CliDeps): void {
  const people = program
    .command('people')
    .description(
      'People beside the owner of this machine, who needs no entry. Each has a role and a token of their own; config/people.json holds them, the tokens as digests alone.',
    )
    .addHelpText(
      'after',
      `${roleWords}

Example:
  $ flotilla people add ann --role member --agents scout,auditor
  $ FLOTILLA_TOKEN=flp_... flotilla --url https://fleet.example.org chat scout`,
    )
  people
    .command('list', { isDefault: true })
    .addHelpText('after', '\nExample:\n  $ flotilla people list')
    .summary('everybody')
    .description('Lists everybody whom config/people.json names.')
    .action(commandAction(deps, list))
  people
    .command('add')
    .summary('add a person; prints their token once')
    .description('Adds a person and prints the token that proves who they are. It is shown this once.')
    .argument('<name>', 'lower-case letters, digits and _ . -')
    .addOption(roleOption().makeOptionMandatory())
    .option('--agents <ids>', 'of a member: agents by id, with commas; * is every worker', identifiers)
    .option('--user <number>', 'an account of this machine whose programs need no token', identifiers)
    .option('--expires <days>', expiresWords)
    .addHelpText(
      'after',
      `${roleWords}\n\nExample:\n  $ flotilla people add ann --role member --agents scout`,
    )
    .action(commandAction(deps, add))
  people
    .command('change')
    .summary('change role, agents or account of a person')
    .description('Changes what is named; the token stays. It counts at once.')
    .argument('<name>', 'who')
    .addOption(roleOption())
    .option('--agents <ids>', 'in the place of those before; none with an empty text', identifiers)
    .option('--user <number>', 'in the place of those before; none with an empty text', identifiers)
    .addHelpText('after', '\nExample:\n  $ flotilla people change ann --agents scout,auditor')
    .action(commandAction(deps, change))
  people
    .command('link')
    .summary('let a person be known by an identity')
    .description('Adds identities to a person, beside those that they have. It counts at once.')
    .argument('<name>', 'who')
    .argument('<identities...>', 'such as telegram:123456789')
    .addHelpText('after', `${identityWords}\n\nExample:\n  $ flotilla people link ann telegram:123456789`)
    .action(commandAction(deps, link('add_identities')))
  people
    .command('unlink')
    .summary('take an identity of a person away')
    .description('Takes identities away from a person; those that they do not have are passed over.')
    .argument('<name>', 'who')
    .argument('<identities...>', 'as flotilla people shows them')
    .addHelpText('after', '\nExample:\n  $ flotilla people unlink ann telegram:123456789')
    .action(commandAction(deps, link('remove_identities')))
  people
    .command('rotate')
    .summary('give a person a new token')
    .description('Prints a new token; the old one ends at once, and so do answers that it has open.')
    .argument('<name>', 'who')
    .option('--expires <days>', expiresWords)
    .addHelpText('after', '\nExample:\n  $ flotilla people rotate ann --expires 30d')
    .action(commandAction(deps, rotate))
  people
    .command('remove')
    .summary('take a person and their token away')
    .description('Removes a person at once. What they set up stays: look at flotilla cron list.')
    .argument('<name>', 'who')
    .addHelpText('after', '\nExample:\n  $ flotilla people remove ann')
    .action(commandAction(deps, remove))
  program
    .command('whoami')
    .description('Shows name, role and agents of whoever asks.')
    .addHelpText('after', '\nExample:\n  $ flotilla whoami')
    .action(commandAction(deps, whoami))
}

const expiresWords = `how long the token holds: days such as 30d, or never; left out, ${peopleLimits.tokenDays}d, and never for owners`

/** Null for never, undefined where nothing is said. */
function expiresOf(line: CommandLine): number | null | undefined {
  const text = textOption(line, 'expires')
  if (text === undefined) return undefined
  if (text === 'never') return null
  const days = Number(/^(\d{1,4})d$/.exec(text)?.[1] ?? 0)
  if (days >= 1 && days <= peopleLimits.tokenDaysMax) return days
  throw new CommandFailed('bad-parameters', {
    detail: `--expires ${text} is no number of days.`,
    repair: `Say days from 1d to ${peopleLimits.tokenDaysMax}d, or never: flotilla people rotate ann --expires 30d`,
    exitCode: exitCodes.usage,
  })
}

function roleOption(): Option {
  return new Option('--role <role>', 'what they may').choices(personRoles)
}

function identifiers(text: string): readonly string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('people', { signal })
  terminal.printJson(reply)
  if (reply.people.length === 0) {
    return terminal.hint(
      'Nobody but the owner of this machine. Add somebody: flotilla people add NAME --role viewer',
    )
  }
  terminal.print(...renderTable(columns, reply.people.map(row)))
}

const columns = ['NAME', 'ROLE', 'AGENTS', 'KNOWN BY', 'TOKEN'].map((title) => ({ title }))

function row({ name, role, agents, identities, token, token_expires_at: until }: PersonView): string[] {
  const all = { viewer: 'none', member: agents.join(', ') || 'none', owner: 'all' }
  const knownBy = [...(token === 'valid' ? ['token'] : []), ...identities].join(', ') || 'nothing'
  return [name, role, all[role], knownBy, tokenWords(token, until)]
}

function tokenWords(token: PersonView['token'], until: string | null): string {
  if (token === 'none') return 'none'
  if (token === 'expired') return `expired ${until?.slice(0, 10) ?? ''}`
  return until === null ? 'no end' : `until ${until.slice(0, 10)}`
}

async function add(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const { agents, identities } = named(line)
  const expires = { expires_days: expiresOf(line) }
  const body = { name: operand(line, 0), role: roleOf(line) ?? 'viewer', agents, identities, ...expires }
  const reply = await (await context.mesh()).call('personAdd', { body, signal })
  terminal.printJson(reply)
  terminal.print(
    `${reply.person.name} is a${reply.person.role === 'owner' ? 'n' : ''} ${reply.person.role} now.`,
  )
  showToken(context, reply)
}

async function change(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const role = roleOf(line)
  const { agents, identities } = named(line)
  if (role === undefined && agents === undefined && identities === undefined) {
    throw new CommandFailed('bad-parameters', {
      detail: 'Nothing is named that changes.',
      repair: 'Name --role, --agents or --user: flotilla people change ann --agents scout',
      exitCode: exitCodes.usage,
    })
  }
  const params = { name: operand(line, 0) }
  const mesh = await context.mesh()
  // Accounts take the place of accounts; what a channel knows somebody by stays.
  const known = identities === undefined ? null : await mesh.call('people', { signal })
  const before = known?.people.find(({ name }) => name === params.name)?.identities ?? []
  const gone = before.filter((one) => one.startsWith('user:'))
  const moved = identities && { remove_identities: gone, add_identities: identities }
  const person = await mesh.call('personChange', { params, body: { role, agents, ...moved }, signal })
  terminal.printJson(person)
  terminal.print(...renderTable(columns, [row(person)]))
}

/** The same said again changes nothing. */
function link(way: 'add_identities' | 'remove_identities') {
  return async (context: CommandContext, line: CommandLine): Promise<void> => {
    const [name = '', ...identities] = line.operands
    const person = await (
      await context.mesh()
    ).call('personChange', { params: { name }, body: { [way]: identities }, signal: context.signal })
    context.terminal.printJson(person)
    context.terminal.print(...renderTable(columns, [row(person)]))
  }
}

async function rotate(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { name: operand(line, 0) }
  const reply = await (
    await context.mesh()
  ).call('personRotate', {
    params,
    body: { expires_days: expiresOf(line) },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.print(`The old token of ${reply.person.name} has ended.`)
  showToken(context, reply)
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { name: operand(line, 0) }
  const reply = await (await context.mesh()).call('personRemove', { params, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(`${reply.removed} is removed, with their token.`)
}

async function whoami(context: CommandContext): Promise<void> {
  const me = await (await context.mesh()).call('me', { signal: context.signal })
  context.terminal.printJson(me)
  const who = me.name ?? 'the owner of this machine'
  const of = me.role === 'member' ? `, of ${me.agents.join(', ') || 'no agent'}` : ''
  context.terminal.print(`You are ${who}: ${me.role}${of}.`)
}

function showToken(
  { terminal }: CommandContext,
  { token, person }: { readonly token: string; readonly person: PersonView },
): void {
  const until = person.token_expires_at
  terminal.print(
    '',
    token,
    '',
    until === null ? 'It holds until it is replaced.' : `It holds until ${until.slice(0, 16)}Z.`,
    'It is shown this once. They set it as FLOTILLA_TOKEN, or send Authorization: Bearer.',
  )
}

function roleOf(line: CommandLine): PersonRole | undefined {
  const text = textOption(line, 'role')
  return personRoles.find((role) => role === text)
}

function named(line: CommandLine): { agents: string[] | undefined; identities: string[] | undefined } {
  const { agents, user } = line.options
  return {
    agents: Array.isArray(agents) ? agents.map(String) : undefined,
    identities: Array.isArray(user)
      ? user.map((one) => (/^\d+$/.test(String(one)) ? `user:${one}` : String(one)))
      : undefined,
  }
}
