import * as fs from 'node:fs'
import type { MeshClient } from '@flotilla/client/mesh-client'
import { makeHome } from '@flotilla/protocol/home-folder'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { reservedAgentIds } from '@flotilla/protocol/reserved-ids'
import type { Command } from 'commander'
import { commandAction, flagOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { readMeshFile } from '../mesh-process/mesh-file.ts'
import { startMesh } from '../mesh-process/start-mesh.ts'
import { chooseDemo } from '../set-up/choose-demo.ts'
import { keepProvider, withoutProvider } from '../set-up/keep-provider.ts'
import { choiceLines } from '../set-up/model-choice.ts'
import type { ModelChoice } from '../set-up/model-choice.ts'
import { requireWebAddress } from '../set-up/provider-address.ts'
import { askForModel } from '../set-up/set-up-model.ts'
import { askLine } from '../terminal/ask-line.ts'
import { oneLine } from '../terminal/color.ts'

const nameColumnsMax = 64
/** How many invalid names may be typed before the first agent is skipped. */
const triesMax = 3

export function addInitCommand(program: Command, deps: CliDeps): void {
  program
    .command('init')
    .description(
      'Sets up a fleet: a model, tested before it is saved, and a first agent. Starts the mesh in the background if none runs. Without a terminal nothing is asked: use options; the key is read from standard input.',
    )
    .option('--provider <name>', 'provider of the model, or a name for your own server')
    .option('--model <name>', 'its model; default: the usual one of the provider')
    .option('--base-url <url>', 'address of your own server, or of a provider if not the usual one')
    .option('--demo', 'use the scripted model (a recorded conversation), without a key')
    .option('-y, --yes', 'do not ask before the scripted model replaces a working model')
    .option('--agent <name>', 'create a first agent with this name')
    .option('--role <text>', 'purpose of that agent')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla init
  $ flotilla init --provider anthropic --agent scout --role "Looks things up." < key.txt
  $ flotilla init --provider ollama --model qwen3
  $ flotilla init --provider gpu-box --base-url http://10.0.0.5:8000/v1 --model llama3.1 < /dev/null
  $ flotilla init --demo`,
    )
    .action(commandAction(deps, init))
}

async function init(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal } = context
  const asks = context.input.isTTY === true && !terminal.json
  const provider = textOption(line, 'provider')
  if (!asks && provider === undefined && !flagOption(line, 'demo')) {
    throw new CommandFailed('nobody-to-ask', {
      detail: 'The command cannot ask, because there is no terminal, and no option names a model.',
      repair: 'Name a provider with --provider NAME and send its key on standard input, or use --demo.',
      exitCode: exitCodes.usage,
    })
  }
  if (textOption(line, 'agent') !== undefined && textOption(line, 'role') === undefined && !asks) {
    throw new CommandFailed('no-role', {
      detail: 'An agent needs a role.',
      repair: 'Add --role TEXT.',
      exitCode: exitCodes.usage,
    })
  }
  const typedUrl = textOption(line, 'baseUrl')
  const baseUrl = typedUrl === undefined ? undefined : requireWebAddress(typedUrl)
  await startWhereNone(context)
  const client = await context.mesh()
  await refuseAgent(context, line, client)
  const confirms = { asks: !flagOption(line, 'yes') }
  let choice: ModelChoice
  if (flagOption(line, 'demo')) choice = await chooseDemo(context, client, confirms)
  else if (provider === undefined) choice = await askForModel(context, client, confirms)
  else {
    const model = textOption(line, 'model')
    choice = await keepProvider(context, client, {
      provider,
      model: model === undefined ? undefined : withoutProvider(model, provider),
      baseUrl,
    })
  }
  // The scripted model's template creates agents; another agent is created only if `--agent` names one.
  const isWanted = choice.kind === 'model' || textOption(line, 'agent') !== undefined
  const agent = isWanted ? await firstAgent(context, client, { line, asks }) : null
  if (agent !== null) {
    terminal.progress.step(`Making ${agent.id}`)
    await client.call('agentCreate', { body: { ...agent, instructions: '' }, signal: context.signal })
    terminal.progress.done()
  }
  terminal.printJson({ ...choice, agent: agent?.id ?? null, url: client.baseUrl })
  terminal.hint(
    ...choiceLines(choice),
    ...(agent === null ? [] : [`Talk to it: flotilla chat ${agent.id}`]),
    `The dashboard: ${client.baseUrl}`,
  )
}

/** Rejects an invalid agent name before asking for a key and before saving anything. */
async function refuseAgent(context: CommandContext, line: CommandLine, client: MeshClient): Promise<void> {
  const named = textOption(line, 'agent')
  if (named === undefined) return
  const fault = await faultOfName(context, client, named)
  if (fault === null) return
  throw new CommandFailed('bad-agent', {
    detail: fault,
    repair: 'Name another agent with --agent, or leave out --agent.',
    exitCode: exitCodes.usage,
  })
}

/** Returns why an agent cannot have this name, or null if it can. */
async function faultOfName(
  { signal }: CommandContext,
  client: MeshClient,
  name: string,
): Promise<string | null> {
  const shown = `“${oneLine(name, nameColumnsMax)}”`
  if (!agentIdSchema.safeParse(name).success)
    return `${shown} is not a valid agent name: use 1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit.`
  if (reservedAgentIds.includes(name.toLowerCase())) return `${shown} is a reserved name.`
  const { agents } = await client.call('status', { signal })
  return agents.some(({ id }) => id === name) ? `An agent ${shown} already exists.` : null
}

async function firstAgent(
  context: CommandContext,
  client: MeshClient,
  { line, asks }: { readonly line: CommandLine; readonly asks: boolean },
): Promise<{ readonly id: string; readonly role: string } | null> {
  const named = textOption(line, 'agent')
  const role = textOption(line, 'role')
  if (!asks) return named === undefined ? null : { id: named, role: role ?? '' }
  const id = named ?? (await askName(context, client))
  if (id === null) return null
  const answer = role ?? (await askLine(context, `What is ${id} for? `))
  return { id, role: answer === '' ? 'Helps with any request.' : answer }
}

async function askName(context: CommandContext, client: MeshClient): Promise<string | null> {
  for (let tries = 0; tries < triesMax; tries++) {
    const name = await askLine(context, 'Name of your first agent (Enter for none): ')
    if (name === '') return null
    const fault = await faultOfName(context, client, name)
    if (fault === null) return name
    context.terminal.note(fault)
  }
  const { terminal } = context
  terminal.note(terminal.typed('Create an agent later: flotilla agent add NAME --role "What it is for."'))
  return null
}

/** Starts a mesh for this home in the background, unless one runs or `--url` names one. */
async function startWhereNone(context: CommandContext): Promise<void> {
  const { terminal, place, environment } = context
  if ((place.url ?? environment.url) !== undefined) return
  if ((await readMeshFile(place.home))?.alive === true) return
  makeHome(fs, place.home)
  await startMesh({
    home: place.home,
    port: place.port,
    verb: 'serve',
    environment: environment.childEnvironment({}),
    detached: true,
    progress: terminal.progress,
    clock: context.clock,
    signal: context.signal,
  })
  terminal.progress.done()
}
