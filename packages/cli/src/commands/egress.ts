import type { InspectionView } from '@flotilla/protocol/inspection-api'
import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { renderTable } from '../terminal/table.ts'

export function addEgressCommand(program: Command, deps: CliDeps): void {
  const egress = program
    .command('egress')
    .description(
      'Hosts whose TLS the egress proxy ends for programs of agents, so that the mesh decides each request and inserts credentials. All other hosts stay tunnels, which the mesh cannot read.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla egress inspect github.com\n  $ flotilla egress list\n  $ flotilla egress remove github.com',
    )
  egress
    .command('list', { isDefault: true })
    .summary('inspected hosts, and programs that refused the certificate of the fleet')
    .description(
      'Lists the inspected hosts, and programs that did not complete TLS with the mesh since its start.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla egress list')
    .action(commandAction(deps, list))
  egress
    .command('inspect')
    .summary('inspect hosts')
    .description(
      'The egress proxy terminates TLS for these hosts, also below a *.domain that stays a tunnel: of all entries that contain a host, the most specific decides. Programs trust the authority of the fleet from the next run of each agent on.',
    )
    .argument('<host...>', 'a host such as github.com, or *.example.org for every name below a domain')
    .addHelpText('after', '\nExample:\n  $ flotilla egress inspect github.com api.github.com')
    .action(commandAction(deps, inspect))
  egress
    .command('tunnel')
    .summary('keep hosts tunnels')
    .description(
      'These hosts stay tunnels, also below an inspected *.domain: for programs that accept only the certificate of the host. The mesh cannot read a tunnel and inserts no credentials in it.',
    )
    .argument('<host...>', 'hosts as flotilla egress list or flotilla doctor shows them')
    .addHelpText('after', '\nExample:\n  $ flotilla egress tunnel updates.example.org')
    .action(commandAction(deps, tunnel))
  egress
    .command('remove')
    .summary('stop inspecting hosts')
    .description(
      'These hosts are removed from both lists. Their connections are tunnels again unless an inspected *.domain contains them.',
    )
    .argument('<host...>', 'hosts as flotilla egress list shows them')
    .addHelpText('after', '\nExample:\n  $ flotilla egress remove github.com')
    .action(commandAction(deps, remove))
}

async function list(context: CommandContext): Promise<void> {
  show(context, await (await context.mesh()).call('inspection', { signal: context.signal }))
}

async function inspect(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  let view: InspectionView | null = null
  for (const host of line.operands)
    view = await client.call('inspectHost', { params: { host }, signal: context.signal })
  if (view !== null) show(context, view)
  context.terminal.hint('Running agents use this from their next run on.')
}

async function tunnel(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  let view: InspectionView | null = null
  for (const host of line.operands)
    view = await client.call('tunnelHost', { params: { host }, signal: context.signal })
  if (view !== null) show(context, view)
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  let view: InspectionView | null = null
  for (const host of line.operands)
    view = await client.call('releaseHost', { params: { host }, signal: context.signal })
  if (view !== null) show(context, view)
}

const whys: Readonly<Record<InspectionView['failures'][number]['why'], string>> = {
  untrusted: 'may not trust the authority of the fleet: it pins a certificate, or its run began before',
  closed: 'closed the connection during the handshake',
  unused: 'completed TLS and closed the connection without a request: it may compare the certificate itself',
  'wrong-name': 'named another host in TLS than in its request to the proxy',
  'no-tls': 'did not send TLS that the mesh supports',
}

function show(context: CommandContext, view: InspectionView): void {
  const { terminal } = context
  terminal.printJson(view)
  if (view.hosts.length === 0) {
    terminal.hint(
      'No host is inspected: all connections of programs are tunnels. Next: flotilla egress inspect HOST',
    )
  } else
    terminal.print(
      ...renderTable(
        [{ title: 'INSPECTED HOST' }],
        view.hosts.map((host) => [host]),
      ),
    )
  if (view.tunnels.length > 0) {
    const rows = view.tunnels.map((host) => [host])
    terminal.print('', ...renderTable([{ title: 'STAYS A TUNNEL' }], rows))
  }
  if (view.failures.length === 0) return
  const titles = ['AGENT', 'HOST', 'TIMES', 'THE PROGRAM'].map((title) => ({ title }))
  const rows = view.failures.map((one) => [one.agent_id, one.host, `${one.count}`, whys[one.why]])
  terminal.print('', ...renderTable(titles, rows))
  for (const { host, agent_ids: agents, count } of view.pinned)
    terminal.hint(
      `Programs of ${agents.join(', ')} closed ${count} connections to ${host} and may not accept the certificate of the fleet. If they accept only the host's own: flotilla egress tunnel ${host}. The mesh then neither decides nor records requests to it.`,
    )
}
