import type { CredentialView } from '@flotilla/protocol/vault-api'
import type { Command } from 'commander'
import { commandAction, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { readSecret } from '../terminal/read-secret.ts'
import { renderTable } from '../terminal/table.ts'

const hostForms = `
HOST is where the credential may go: api.example.org, *.example.org (names below it), api.example.org:8443, or
http://nas.lan:5000 where the connection is not encrypted. Nothing else ever receives it.`

const programsOption =
  'place of its placeholder for programs: git, git:USER, npm, netrc, netrc:USER or env:VARIABLE; can be repeated'

export function addCredentialsCommand(program: Command, deps: CliDeps): void {
  const credentials = program
    .command('credentials')
    .description(
      'Credentials of agents. An agent writes $CRED{name}; the mesh inserts the value in requests to the hosts that you name, and removes it from the answers.',
    )
    .addHelpText(
      'after',
      `
Example:
  $ flotilla credentials set github_token --host api.github.com < token.txt
  $ flotilla credentials list

An agent may use it once allowed_credentials of its record in config/permissions.json matches the name.`,
    )
  credentials
    .command('list', { isDefault: true })
    .summary('names, hosts and fingerprints')
    .description('Lists all credentials of both tiers. Values are never shown; compare them by fingerprint.')
    .addHelpText('after', '\nExample:\n  $ flotilla credentials list')
    .action(commandAction(deps, list))
  credentials
    .command('set')
    .summary('store a credential, or replace its value')
    .description(
      'Reads the value from standard input, or asks for it without showing it: one line of 8 to 10000 characters. Surrounding white space is removed.',
    )
    .argument('<name>', 'letters, digits and _')
    .option('--host <host>', 'host that may receive it; can be repeated', collect)
    .option('--as <use>', programsOption, collect)
    .addHelpText(
      'after',
      `${hostForms}\n\nExample:\n  $ flotilla credentials set github_token --host api.github.com`,
    )
    .action(commandAction(deps, set))
  credentials
    .command('bind')
    .summary('set the hosts that may receive a credential')
    .description('Replaces the hosts of a credential.')
    .argument('<name>', 'name of the credential')
    .argument('<host...>', 'hosts that may receive it')
    .option('--note <text>', 'a note on its purpose, for people')
    .option('--as <use>', programsOption, collect)
    .addHelpText(
      'after',
      `${hostForms}\n\nExample:\n  $ flotilla credentials bind github_token api.github.com uploads.github.com`,
    )
    .action(commandAction(deps, bind))
  credentials
    .command('unbind')
    .summary('remove all hosts of a credential')
    .description('Removes the hosts of a credential, so it is sent nowhere. Its value stays stored.')
    .argument('<name>', 'name of the credential')
    .addHelpText('after', '\nExample:\n  $ flotilla credentials unbind github_token')
    .action(commandAction(deps, unbind))
  credentials
    .command('remove')
    .summary('delete a credential and its hosts')
    .description('Deletes the value from .env and the hosts from config/credentials.json.')
    .argument('<name>', 'name of the credential')
    .addHelpText('after', '\nExample:\n  $ flotilla credentials remove github_token')
    .action(commandAction(deps, remove))
  credentials
    .command('requests')
    .summary('list credentials that agents requested')
    .description('Lists requests of agents for credentials, newest first. Setting the credential grants it.')
    .addHelpText('after', '\nExample:\n  $ flotilla credentials requests')
    .action(commandAction(deps, requests))
  credentials
    .command('deny')
    .summary('reject a request')
    .description('Rejects a request and informs the agent.')
    .argument('<request>', 'id of the request')
    .option('--reason <text>', 'reason that the agent receives')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla credentials deny cred_0123456789abcdef --reason "use the public API"',
    )
    .action(commandAction(deps, deny))
}

function collect(host: string, before: readonly string[] = []): readonly string[] {
  return [...before, host]
}

function listOption(line: CommandLine, name: 'host' | 'as'): string[] | undefined {
  const values = line.options[name]
  return Array.isArray(values) ? values.map(String) : undefined
}

/** The uses by programs, as a field of a request; empty if the option is absent. */
function usesOf(line: CommandLine): { readonly programs?: string[] } {
  const programs = listOption(line, 'as')
  return programs === undefined ? {} : { programs }
}

async function list(context: CommandContext): Promise<void> {
  const reply = await (await context.mesh()).call('credentials', { signal: context.signal })
  context.terminal.printJson(reply)
  if (reply.broken !== null) context.terminal.print(`No credential can be used: ${reply.broken}`)
  if (reply.credentials.length === 0)
    context.terminal.hint('No credentials yet. Next: flotilla credentials set NAME --host HOST')
  else context.terminal.print(...renderTable(columns, reply.credentials.map(row)))
}

const columns = [
  { title: 'NAME' },
  { title: 'TIER' },
  { title: 'FROM' },
  { title: 'FINGERPRINT' },
  { title: 'GOES TO' },
  { title: 'NOTE' },
]

function row(view: CredentialView): string[] {
  const goesTo = view.hosts.length > 0 ? view.hosts.join(', ') : `nowhere: ${view.unused_because ?? ''}`
  const held =
    view.hosts.length > 0 && view.unused_because !== null ? ` (held back: ${view.unused_because})` : ''
  return [view.name, view.tier, view.source, view.fingerprint, goesTo + held, view.note]
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const name = operand(line, 0)
  const client = await context.mesh()
  const value = await readSecret(context, `Value of ${name}: `)
  const hosts = listOption(line, 'host')
  const reply = await client.call('credentialSet', {
    params: { name },
    body: { value, ...(hosts === undefined ? {} : { hosts }), ...usesOf(line) },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.hint(
    `Stored ${reply.name} (fingerprint ${reply.fingerprint}).`,
    whereTo(reply),
    ...reply.notices.map((notice) => `Note: ${notice}.`),
  )
}

async function bind(context: CommandContext, line: CommandLine): Promise<void> {
  const [name = '', ...hosts] = line.operands
  const note = textOption(line, 'note')
  const reply = await (
    await context.mesh()
  ).call('credentialBind', {
    params: { name },
    body: { hosts, ...(note === undefined ? {} : { note }), ...usesOf(line) },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.hint(whereTo(reply), ...reply.notices.map((notice) => `Note: ${notice}.`))
}

async function unbind(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { name: operand(line, 0) }
  const reply = await (await context.mesh()).call('credentialUnbind', { params, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.hint(whereTo(reply))
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { name: operand(line, 0) }
  const reply = await (await context.mesh()).call('credentialRemove', { params, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(`Removed ${reply.removed}.`)
}

async function requests(context: CommandContext): Promise<void> {
  const reply = await (await context.mesh()).call('credentialRequests', { signal: context.signal })
  context.terminal.printJson(reply)
  const rows = reply.requests.map((one) => [
    one.id,
    one.state,
    one.agent_id,
    one.name,
    one.service,
    one.description,
  ])
  const titles = ['REQUEST', 'STATE', 'AGENT', 'NAME', 'SERVICE', 'WHAT FOR'].map((title) => ({ title }))
  context.terminal.print(
    ...(rows.length === 0 ? ['No agent has requested a credential.'] : renderTable(titles, rows)),
  )
}

async function deny(context: CommandContext, line: CommandLine): Promise<void> {
  const reply = await (
    await context.mesh()
  ).call('credentialRequestDeny', {
    params: { id: operand(line, 0) },
    body: { reason: textOption(line, 'reason') ?? '' },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.print(`The request for ${reply.name} is rejected, and ${reply.agent_id} is informed.`)
}

function whereTo(view: CredentialView): string {
  if (view.unused_because !== null)
    return `${view.name} is not used for any host: ${view.unused_because}. Next: flotilla credentials bind ${view.name} HOST`
  return `${view.name} is inserted for ${view.hosts.join(', ')}, for agents whose allowed_credentials include it: flotilla permissions set AGENT allowed_credentials+=${view.name}`
}
