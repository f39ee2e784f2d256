import type { AgentImageView } from '@flotilla/protocol/agent-image'
import { Problem } from '@flotilla/protocol/problem'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { requireAgent } from '../require-agent.ts'

/** The image from which an agent runs: verbs of `flotilla image`. */
export function addAgentImageVerbs(image: Command, deps: CliDeps): void {
  image
    .command('show')
    .summary('the image of an agent')
    .description('Shows the image of the owner from which an agent runs, if it has one.')
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla image show writer')
    .action(commandAction(deps, show))
  image
    .command('set')
    .summary('let an agent run from your own image')
    .description(
      'Makes an image of yours fit for agents, tests all walls of an agent in it, and sets it; the agent uses it from its next run on. The image is named with its digest, and is pulled if the container engine of this machine lacks it. --none sets the agent image.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('[image]', 'name and digest, such as registry.example/tools@sha256:…')
    .option('--none', 'use the agent image again')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla image set writer registry.example/tools@sha256:2f6a…\n  $ flotilla image set writer --none',
    )
    .action(commandAction(deps, set))
}

async function show(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { id: operand(line, 0) }
  print(context, await (await context.mesh()).call('agentImage', { params, signal: context.signal }))
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const id = operand(line, 0)
  const named = line.operands[1]
  if ((named === undefined) !== flagOption(line, 'none'))
    throw new Problem('bad-request', {
      detail: 'name an image with its digest, or use the agent image again with --none alone',
    })
  const client = await context.mesh()
  const { signal, terminal } = context
  await requireAgent(context, client, id)
  if (named !== undefined) terminal.hint('Making and testing the image; this can take minutes.')
  const body = { image: named ?? null }
  print(context, await client.call('setAgentImage', { params: { id }, body, signal }))
  terminal.hint('The agent uses this from its next run on.')
}

function print({ terminal }: CommandContext, view: AgentImageView): void {
  terminal.printJson(view)
  const inherited = view.set_at === view.agent_id ? '' : ` It is that of ${view.set_at}, its root ancestor.`
  terminal.print(`${view.agent_id} runs from ${view.image ?? 'the agent image'}.${inherited}`)
}
