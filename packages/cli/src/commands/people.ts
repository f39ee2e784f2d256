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
viewer  reads everything, changes nothing
member  also works with the agents of --agents: chats, edits their texts, restarts them, lowers their budgets
owner   may do everything; only owners change credentials, permissions and people, raise budgets and decide approvals`

const identityWords = `
An identity lets a person in without a token. Each belongs to one person.
${[
  ['user:1001', 'an account of this machine'],
  ['local, session', 'of owners: this machine, and the cookie of a hosted mesh'],
  ...channelNames.map(
    (name) => [channelIdentities[name].example, channelIdentities[name].description] as const,
  ),
]
  .map(([example = '', description = '']) => `${example.padEnd(28)}${description}`)
  .join('\n')}`

export function addPeopleCommand(program: Command, deps: CliDeps): void {
  const people = program
    .command('people')
    .description(
      'People who may use this fleet, beside the owner of this machine, who needs no entry. Each has a role and a token; config/people.json stores them, tokens only as digests.',
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
    .description('Lists all people in config/people.json.')
    .action(commandAction(deps, list))
  people
    .command('add')
    .summary('add a person; prints their token once')
    .description('Adds a person and prints their token. It is shown only once.')
    .argument('<name>', 'lower-case letters, digits and _ . -')
    .addOption(roleOption().makeOptionMandatory())
    .option('--agents <ids>', 'agents of a member: ids separated by commas; * is every worker', identifiers)
    .option('--user <number>', 'user id on this machine whose programs need no token', identifiers)
    .option('--expires <days>', expiresWords)
    .addHelpText(
      'after',
      `${roleWords}\n\nExample:\n  $ flotilla people add ann --role member --agents scout`,
    )
    .action(commandAction(deps, add))
  people
    .command('change')
    .summary('change the role, agents or account of a person')
    .description('Changes only what is named; the token stays. Takes effect immediately.')
    .argument('<name>', 'who')
    .addOption(roleOption())
    .option('--agents <ids>', 'replaces the previous value; empty removes it', identifiers)
    .option('--user <number>', 'replaces the previous value; empty removes it', identifiers)
    .addHelpText('after', '\nExample:\n  $ flotilla people change ann --agents scout,auditor')
    .action(commandAction(deps, change))
  people
    .command('link')
    .summary('add identities of a person')
    .description('Adds identities to those of a person. Takes effect immediately.')
    .argument('<name>', 'who')
    .argument('<identities...>', 'such as telegram:123456789')
    .addHelpText('after', `${identityWords}\n\nExample:\n  $ flotilla people link ann telegram:123456789`)
    .action(commandAction(deps, link('add_identities')))
  people
    .command('unlink')
    .summary('remove identities of a person')
    .description('Removes identities of a person; unknown ones are ignored.')
    .argument('<name>', 'who')
    .argument('<identities...>', 'as flotilla people shows them')
    .addHelpText('after', '\nExample:\n  $ flotilla people unlink ann telegram:123456789')
    .action(commandAction(deps, link('remove_identities')))
  people
    .command('rotate')
    .summary('give a person a new token')
    .description(
      'Prints a new token. The old one is revoked immediately, and its open connections are closed.',
    )
    .argument('<name>', 'who')
    .option('--expires <days>', expiresWords)
    .addHelpText('after', '\nExample:\n  $ flotilla people rotate ann --expires 30d')
    .action(commandAction(deps, rotate))
  people
    .command('remove')
    .summary('remove a person and their token')
    .description('Removes a person immediately. Jobs that they set up are kept: see flotilla cron list.')
    .argument('<name>', 'who')
    .addHelpText('after', '\nExample:\n  $ flotilla people remove ann')
    .action(commandAction(deps, remove))
  program
    .command('whoami')
    .description('Shows your name, role and agents.')
    .addHelpText('after', '\nExample:\n  $ flotilla whoami')
    .action(commandAction(deps, whoami))
}

const expiresWords = `lifetime of the token: days such as 30d, or never (default: ${peopleLimits.tokenDays}d, for owners never)`

/** Returns null for never, undefined if the option is missing. */
function expiresOf(line: CommandLine): number | null | undefined {
  const text = textOption(line, 'expires')
  if (text === undefined) return undefined
  if (text === 'never') return null
  const days = Number(/^(\d{1,4})d$/.exec(text)?.[1] ?? 0)
  if (days >= 1 && days <= peopleLimits.tokenDaysMax) return days
  throw new CommandFailed('bad-parameters', {
    detail: `--expires ${text} is not a number of days.`,
    repair: `Use 1d to ${peopleLimits.tokenDaysMax}d, or never: flotilla people rotate ann --expires 30d`,
    exitCode: exitCodes.usage,
  })
}

function roleOption(): Option {
  return new Option('--role <role>', 'role of the person').choices(personRoles)
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
      'Only the owner of this machine has access. Add a person: flotilla people add NAME --role viewer',
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
      detail: 'The command names no change.',
      repair: 'Name --role, --agents or --user: flotilla people change ann --agents scout',
      exitCode: exitCodes.usage,
    })
  }
  const params = { name: operand(line, 0) }
  const mesh = await context.mesh()
  // The given accounts (`user:`) replace the person's earlier accounts; identities on channels stay.
  const known = identities === undefined ? null : await mesh.call('people', { signal })
  const before = known?.people.find(({ name }) => name === params.name)?.identities ?? []
  const gone = before.filter((one) => one.startsWith('user:'))
  const moved = identities && { remove_identities: gone, add_identities: identities }
  const person = await mesh.call('personChange', { params, body: { role, agents, ...moved }, signal })
  terminal.printJson(person)
  terminal.print(...renderTable(columns, [row(person)]))
}

/** Returns a handler that adds or removes identities of a person; repeating the command changes nothing. */
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
  context.terminal.print(`The old token of ${reply.person.name} is revoked.`)
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
    until === null ? 'It is valid until it is replaced.' : `It is valid until ${until.slice(0, 16)}Z.`,
    'It is shown only once. Set it as FLOTILLA_TOKEN, or send it in the header Authorization: Bearer.',
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
