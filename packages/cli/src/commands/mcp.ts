import type { ChangeView } from '@flotilla/protocol/agent-edit'
import { readMcpServer } from '@flotilla/protocol/mcp-servers'
import type { McpServer } from '@flotilla/protocol/mcp-servers'
import type { Command } from 'commander'
import { commandAction, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine, printable } from '../terminal/color.ts'
import { renderTable } from '../terminal/table.ts'
import { undoHint } from './changes.ts'

const detailColumns = 100

export function addMcpCommand(program: Command, deps: CliDeps): void {
  const mcp = program
    .command('mcp')
    .description(
      'MCP servers of an agent: programs in its container, and network servers that it reaches through the mesh. They start with the next run of the agent.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla mcp list auditor
  $ flotilla mcp add auditor files -- npx -y @modelcontextprotocol/server-filesystem /data
  $ flotilla mcp add auditor wiki --http https://wiki.example/mcp --header 'Authorization: Bearer $CRED{wiki}'`,
    )
  mcp
    .command('list', { isDefault: true })
    .summary('servers with their state and tools')
    .description('Lists the MCP servers of an agent, or of all, with their state and their tools.')
    .argument('[agent]', 'id of one agent')
    .addHelpText('after', '\nExample:\n  $ flotilla mcp list auditor')
    .action(commandAction(deps, list))
  mcp
    .command('add')
    .summary('add a server to an agent, or replace one')
    .description(
      'Adds a server, or replaces the one with that name: a command for a program in the container, or --http. Put arguments that begin with a dash after --.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<name>', 'name of the server')
    .argument('[command...]', 'the program and its arguments')
    .option('--http <address>', 'address of a server on the network')
    .option('--sse <address>', 'address of a server with the older HTTP+SSE transport')
    .option('--header <line>', 'a header "Name: value"; can be repeated', collect)
    .option('--env <assignment>', 'a variable NAME=value for the program; can be repeated', collect)
    .option('--tool <name>', 'use only this tool; can be repeated', collect)
    .option('--startup-timeout <ms>', 'timeout for listing its tools', wholeNumber(500, 120_000))
    .option('--call-timeout <ms>', 'timeout for a call', wholeNumber(1000, 600_000))
    .addHelpText(
      'after',
      `
$CRED{name} in a header or in the address is a placeholder for a credential that is bound to that host (flotilla
credentials). The mesh fills it in; it never enters the container.

Examples:
  $ flotilla mcp add auditor files -- npx -y @modelcontextprotocol/server-filesystem /data
  $ flotilla mcp add auditor wiki --http https://wiki.example/mcp --header 'Authorization: Bearer $CRED{wiki}'`,
    )
    .action(commandAction(deps, add))
  mcp
    .command('remove')
    .summary('remove a server')
    .description('Removes a server from an agent. It stops before the next run.')
    .argument('<agent>', 'id of the agent')
    .argument('<name>', 'name of the server')
    .addHelpText('after', '\nExample:\n  $ flotilla mcp remove auditor wiki')
    .action(commandAction(deps, remove))
}

function collect(word: string, before: readonly string[] = []): readonly string[] {
  return [...before, word]
}

function listOption(line: CommandLine, name: string): string[] {
  const value = line.options[name]
  return Array.isArray(value) ? value.map(String) : []
}

async function list(context: CommandContext, line: CommandLine): Promise<void> {
  const [id] = line.operands
  const { terminal, signal } = context
  const client = await context.mesh()
  const ids =
    id === undefined ? (await client.call('status', { signal })).agents.map((agent) => agent.id) : [id]
  const found = []
  for (const agent of ids) {
    const { servers } = await client.call('mcpServers', { params: { id: agent }, signal })
    found.push(...servers.map((server) => ({ agent, ...server })))
  }
  terminal.printJson({ servers: found })
  if (found.length === 0) {
    const who = id === undefined ? 'No agent has' : `${id} has no`
    return terminal.hint(`${who} MCP servers. Add one: flotilla mcp add --help`)
  }
  terminal.print(
    ...renderTable(
      ['AGENT', 'NAME', 'STATE', 'WHERE', 'TOOLS', 'DETAIL'].map((title) => ({ title })),
      found.map(({ agent, name, state, config, tools, detail, protocol }) => [
        agent,
        name,
        protocol === null ? state : `${state} (${printable(protocol)})`,
        oneLine(whereIs(config), 60),
        tools.length === 0 ? '-' : printable(tools.join(', ')),
        oneLine(detail, detailColumns),
      ]),
    ),
  )
}

function whereIs(config: Readonly<Record<string, unknown>>): string {
  const { url, command, args } = config
  if (typeof url === 'string') return url
  return [command, ...(Array.isArray(args) ? args : [])].map(String).join(' ')
}

async function add(context: CommandContext, line: CommandLine): Promise<void> {
  const name = operand(line, 1)
  const value = { set: { [name]: readServer(line) }, remove: [] }
  const agent = operand(line, 0)
  await edit(context, agent, { value, done: `has the MCP server ${name}` })
  const { terminal, signal } = context
  const { servers } = await (await context.mesh()).call('mcpServers', { params: { id: agent }, signal })
  const notices = servers.find((server) => server.name === name)?.notices ?? []
  terminal.note(...notices.map((notice) => `Note: ${notice}.`))
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const name = operand(line, 1)
  const value = { set: {}, remove: [name] }
  await edit(context, operand(line, 0), { value, done: `no longer has the MCP server ${name}` })
}

async function edit(
  context: CommandContext,
  id: string,
  request: {
    readonly value: { readonly set: Readonly<Record<string, McpServer>>; readonly remove: string[] }
    readonly done: string
  },
): Promise<void> {
  const { value, done } = request
  const change: ChangeView = await (
    await context.mesh()
  ).call('agentEdit', {
    params: { id },
    body: { field: 'mcpServers', value, reason: '' },
    idempotencyKey: context.newKey(),
    signal: context.signal,
  })
  context.terminal.printJson(change)
  context.terminal.hint(`${id} ${done}.`, undoHint(change))
}

function readServer(line: CommandLine): McpServer {
  const [command, ...args] = line.operands.slice(2)
  const older = textOption(line, 'sse')
  const url = older ?? textOption(line, 'http')
  const tools = listOption(line, 'tool')
  const raw = {
    ...(command === undefined ? {} : { command, args, env: pairs(listOption(line, 'env'), '=') }),
    ...(url === undefined ? {} : { url, headers: pairs(listOption(line, 'header'), ':') }),
    ...(older === undefined ? {} : { type: 'sse' }),
    ...(tools.length === 0 ? {} : { tools }),
    ...given('startupTimeoutMs', numberOption(line, 'startupTimeout')),
    ...given('callTimeoutMs', numberOption(line, 'callTimeout')),
  }
  const { server, fault } = readMcpServer(raw)
  if (server) return server
  throw wrong(fault)
}

function given(name: string, value: number | undefined): Record<string, number> {
  return value === undefined ? {} : { [name]: value }
}

function pairs(words: readonly string[], mark: string): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf(mark)
      if (at <= 0) throw wrong(`${word.slice(0, 60)} is not of the form NAME${mark}value`)
      return [word.slice(0, at).trim(), word.slice(at + 1).trim()]
    }),
  )
}

function wrong(detail: string): CommandFailed {
  return new CommandFailed('bad-server', {
    detail: `${detail}.`,
    repair: 'See: flotilla mcp add --help',
    exitCode: exitCodes.usage,
  })
}
