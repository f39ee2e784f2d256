import { formatHarness, harnessPackages, isNpmPackage } from '@flotilla/protocol/agent-harness'
import type { AgentHarnessView } from '@flotilla/protocol/agent-harness'
import type { Harness } from '@flotilla/protocol/harness'
import { harnessNames } from '@flotilla/protocol/harness-variable'
import type { HarnessName } from '@flotilla/protocol/harness-variable'
import { hintOfName } from '@flotilla/protocol/nearest-name'
import { Problem } from '@flotilla/protocol/problem'
import { Argument } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { requireAgent } from '../require-agent.ts'
import { buildPackages } from './packages.ts'

/** The memory of a container in which the known harnesses work, in MB; each was tried with it. */
const harnessMemoryMb = 1536

export function addHarnessCommand(program: Command, deps: CliDeps): void {
  // Not `choices()`, which would also check the words that follow `--` as part of `--command`.
  const known = new Argument('[harness...]', 'a known program')
  known.argChoices = [...harnessNames]
  program
    .command('harness')
    .description(
      'Shows or sets the program that drives the runs of an agent in place of its own loop. A known one is installed from its npm package into the image of the agent.',
    )
    .argument('<agent>', 'id of the agent')
    .addArgument(known)
    .option(
      '--command <word...>',
      'another program that speaks the Agent Client Protocol, with its arguments; put those that begin with a dash after --; install it with flotilla packages set',
    )
    .option('--off', 'the agent’s own loop')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla harness coder claude-code
  $ flotilla harness coder --command my-agent acp
  $ flotilla harness coder --command my-agent -- --acp
  $ flotilla harness coder --off`,
    )
    .action(commandAction(deps, harness))
}

async function harness(context: CommandContext, line: CommandLine): Promise<void> {
  const id = operand(line, 0)
  const wanted = wantedHarness(line)
  const client = await context.mesh()
  const { terminal, signal } = context
  const params = { id }
  await requireAgent(context, client, id)
  if (wanted === undefined) {
    const view = await client.call('agentHarness', { params, signal })
    terminal.printJson(view)
    return terminal.print(harnessWords(view))
  }
  const view = await setHarness(context, id, wanted)
  terminal.printJson(view)
  terminal.print(harnessWords(view))
}

/** Sets the harness and waits until the image of the agent has its package. Returns the harness. */
export async function setHarness(
  context: CommandContext,
  id: string,
  wanted: Harness | null,
): Promise<AgentHarnessView> {
  const client = await context.mesh()
  const { terminal, signal } = context
  const view = await client.call('setAgentHarness', { params: { id }, body: { harness: wanted }, signal })
  if (wanted === null) return view
  const { image } = await client.call('agentImage', { params: { id }, signal })
  const packages = await client.call('agentPackages', { params: { id }, signal })
  if (image !== null) terminal.hint(`${id} runs from your image, which must have the program itself.`)
  else if (packages.image?.state === 'unavailable')
    terminal.hint(`Its package is not installed: ${packages.image.detail}.`)
  else if (typeof wanted === 'string' && !(await hasPackage(context, id, wanted)))
    await buildPackages(context, id)
  const { size } = await client.call('agentSize', { params: { id }, signal })
  if (size.memory_mb < harnessMemoryMb)
    terminal.hint(
      `${id} has ${size.memory_mb} MB of memory, too little for most harnesses. Next: flotilla size ${id} --memory ${harnessMemoryMb} --cpus 1`,
    )
  return view
}

async function hasPackage({ mesh, signal }: CommandContext, id: string, name: HarnessName): Promise<boolean> {
  const { image } = await (await mesh()).call('agentPackages', { params: { id }, signal })
  return image?.locked?.npm.some((locked) => isNpmPackage(locked.name, harnessPackages[name])) ?? false
}

/** Returns the harness of a line, null for none, and undefined if the line only asks. Throws Problem `bad-request`. */
export function wantedHarness(line: CommandLine): Harness | null | undefined {
  const command = line.options['command']
  const first = Array.isArray(command) ? command.filter((word) => typeof word === 'string') : []
  const named = line.operands.slice(1)
  const words = first.length > 0 ? [...first, ...named] : []
  const known = words.length > 0 ? undefined : knownHarness(named)
  const isOff = flagOption(line, 'off')
  if ([known !== undefined, words.length > 0, isOff].filter(Boolean).length > 1)
    throw new Problem('bad-request', { detail: 'name one of a known harness, --command and --off' })
  if (isOff) return null
  return words.length > 0 ? { command: words } : known
}

function knownHarness([name, ...more]: readonly string[]): HarnessName | undefined {
  const known = harnessNames.find((one) => one === name)
  if (more.length === 0 && (name === undefined || known !== undefined)) return known
  const given = [name, ...more].join(' ')
  throw new Problem('bad-request', {
    detail: `there is no harness ${given}: ${hintOfName(given, harnessNames, 'the harnesses are')}; --command names another program`,
  })
}

function harnessWords({ agent_id: id, set_at: root, harness: set }: AgentHarnessView): string {
  const by = root === id ? '' : `, as ${root} is`
  return set === null
    ? `${id} is driven by its own loop${by}.`
    : `${id} is driven by ${formatHarness(set)}${by}.`
}
