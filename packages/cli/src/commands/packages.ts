import { isWithoutPackages, joinPackages, toolboxNames } from '@flotilla/protocol/agent-packages'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import type { AgentPackagesView, PackageImageView } from '@flotilla/protocol/packages-api'
import { Problem } from '@flotilla/protocol/problem'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { requireAgent } from '../require-agent.ts'
import { renderTable } from '../terminal/table.ts'

/** The interval between two questions about a build, in milliseconds. */
const pollMs = 1_000

/** Packages of agents: `flotilla packages`. */
export function addPackagesCommand(program: Command, deps: CliDeps): void {
  const packages = program
    .command('packages')
    .description(
      'Packages of apt, npm and pip in the image of an agent. They are downloaded from the registries that this machine itself uses, and locked with versions and digests in config/packages/ of the home.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla packages show writer\n  $ flotilla packages set writer --toolbox python --apt ffmpeg --npm typescript@5',
    )
  packages
    .command('list', { isDefault: true })
    .summary('agents with packages')
    .description('Lists the requested packages of agents and the file of each lock.')
    .addHelpText('after', '\nExample:\n  $ flotilla packages list')
    .action(commandAction(deps, list))
  packages
    .command('show')
    .summary('the packages of an agent')
    .description('Shows the requested packages of an agent and the locked versions.')
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla packages show writer')
    .action(commandAction(deps, show))
  packages
    .command('set')
    .summary('replace the packages of an agent')
    .description(
      'Replaces the whole list. If the list has no lock yet, the command builds the image and waits for it; otherwise the next run builds the image if it is missing. The agent uses the list from its next run on. --none removes all packages.',
    )
    .argument('<agent>', 'id of the agent')
    .option('--apt <name...>', 'Debian packages, such as ffmpeg or ripgrep=13.0.0-4+b2')
    .option('--npm <name...>', 'npm packages, such as typescript or eslint@9')
    .option('--pip <name...>', 'Python packages, such as requests or numpy==2.1.0')
    .addOption(new Option('--toolbox <name...>', 'ready lists').choices(toolboxNames))
    .option('--none', 'no packages')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla packages set writer --toolbox build --pip pandas\n  $ flotilla packages set writer --none',
    )
    .action(commandAction(deps, set))
}

/** Images with packages: verbs of `flotilla image`. */
export function addPackageVerbs(image: Command, deps: CliDeps): void {
  image
    .command('list')
    .summary('images with packages')
    .description('Lists the images with packages, the agents that use each, and the file of its lock.')
    .addHelpText('after', '\nExample:\n  $ flotilla image list')
    .action(commandAction(deps, list))
  image
    .command('rebuild')
    .summary('choose the newest versions of an agent’s packages')
    .description(
      'Chooses the newest versions that the registries have for the list of the agent, builds the image and replaces the lock. All agents with the same list use it from their next run on.',
    )
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla image rebuild writer')
    .action(commandAction(deps, rebuild))
}

async function show(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { id: operand(line, 0) }
  const view = await (await context.mesh()).call('agentPackages', { params, signal: context.signal })
  context.terminal.printJson(view)
  printView(context, view)
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const id = operand(line, 0)
  const list: PackageList = {
    apt: names(line, 'apt'),
    npm: names(line, 'npm'),
    pip: names(line, 'pip'),
    toolboxes: toolboxNames.filter((name) => names(line, 'toolbox').includes(name)),
  }
  if (isWithoutPackages(joinPackages([list])) !== flagOption(line, 'none'))
    throw new Problem('bad-request', {
      detail: 'name packages with --apt, --npm, --pip or --toolbox, or remove all with --none alone',
    })
  const client = await context.mesh()
  const { signal } = context
  await requireAgent(context, client, id)
  const view = await client.call('setAgentPackages', { params: { id }, body: list, signal })
  if (view.image === null || view.image.locked !== null || view.image.state === 'unavailable') {
    context.terminal.printJson(view)
    printView(context, view)
    return context.terminal.hint(
      view.image?.state === 'unavailable'
        ? `The list is stored and has no effect here: ${view.image.detail}.`
        : 'The agent uses this from its next run on.',
    )
  }
  await buildAndPrint(context, id)
}

async function rebuild(context: CommandContext, line: CommandLine): Promise<void> {
  await buildAndPrint(context, operand(line, 0))
}

async function buildAndPrint(context: CommandContext, id: string): Promise<void> {
  const { terminal } = context
  const view = await buildPackages(context, id)
  terminal.printJson(view)
  printView(context, view)
  terminal.hint('Agents with this list use the image from their next run on.')
}

/**
 * Begins a build and waits for its end. The build goes on if this program is interrupted. Problem `packages-unavailable`.
 */
export async function buildPackages(context: CommandContext, id: string): Promise<AgentPackagesView> {
  const { terminal, signal, clock } = context
  const client = await context.mesh()
  let view = await client.call('rebuildPackages', { params: { id }, signal })
  terminal.hint('Downloading and installing packages; this takes a minute or more.')
  while (view.image?.state === 'building') {
    await clock.sleep(pollMs, signal)
    view = await client.call('agentPackages', { params: { id }, signal })
  }
  if (view.image?.state === 'failed')
    throw new Problem('packages-unavailable', {
      detail: view.image.detail,
      repair: `Correct the list: flotilla packages set ${id}. To build again as it is: flotilla image rebuild ${id}`,
    })
  return view
}

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('packages', { signal })
  terminal.printJson(reply)
  if (reply.images.length === 0)
    return terminal.hint('No agent has packages. Next: flotilla packages set AGENT --toolbox python')
  const titles = ['AGENTS', 'REQUESTED', 'LOCKED', 'STATE', 'LOCK FILE'].map((title) => ({ title }))
  terminal.print(...renderTable(titles, reply.images.map(rowOf)))
}

function rowOf(image: PackageImageView): string[] {
  const { apt = [], npm = [], pip = [] } = image.packages
  return [
    image.agents.join(', '),
    [...apt, ...npm, ...pip].join(' '),
    image.locked === null ? 'not yet' : `${countOf(image)} packages`,
    image.state === 'failed' ? `failed: ${image.detail}` : image.state,
    image.lock_file,
  ]
}

function countOf({ locked }: PackageImageView): number {
  return locked === null ? 0 : locked.apt.length + locked.npm.length + locked.pip.length
}

function printView({ terminal }: CommandContext, { agent_id: id, image }: AgentPackagesView): void {
  if (image === null) return terminal.print(`${id} has no packages besides those of the agent image.`)
  const { locked } = image
  if (locked === null) {
    return terminal.print(`Requested: ${rowOf(image)[1]}. Nothing is locked yet.`)
  }
  const titles = ['FROM', 'PACKAGE', 'VERSION'].map((title) => ({ title }))
  const rows = (['apt', 'npm', 'pip'] as const).flatMap((from) =>
    locked[from].map(({ name, version }) => [from, name, version]),
  )
  const delivered = (image.packages.apt ?? []).filter(
    (name) => !locked.apt.some((one) => one.name === name.split('=')[0]),
  )
  terminal.print(
    ...renderTable(titles, rows),
    '',
    ...(delivered.length === 0 ? [] : [`In the agent image already: ${delivered.join(', ')}.`]),
    `Lock: ${image.lock_file}`,
  )
}

function names(line: CommandLine, option: string): string[] {
  const value = line.options[option]
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}
