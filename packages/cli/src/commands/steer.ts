import { text } from 'node:stream/consumers'
import type { SteerView } from '@flotilla/protocol/steer'
import type { Command } from 'commander'
import { commandAction, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

export function addSteerCommand(program: Command, deps: CliDeps): void {
  program
    .command('steer')
    .description(
      'Sends a message to an agent that is working; it reads the message before its next step, in the same run. If the run ends first, or the agent is idle, the message becomes a separate run; it is never lost.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<text...>', 'the message; - reads it from standard input')
    .option('--session <name>', 'only to the run of this conversation (default: its current run)')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla steer auditor "Leave out the tests folder"
  $ flotilla runs run_0123456789abcdef           shows what was said to a run, and when it read it`,
    )
    .action(commandAction(deps, steer))
}

async function steer(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const typed = line.operands.slice(1).join(' ')
  const session = textOption(line, 'session')
  const reply = await client.call('steer', {
    params: { id: operand(line, 0) },
    body: {
      text: typed === '-' ? (await text(context.input)).trim() : typed,
      ...(session === undefined ? {} : { session }),
    },
    idempotencyKey: context.newKey(),
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.hint(...whereItWent(reply))
}

/** Explains the reply to the person who sent the message. */
export function whereItWent(steer: SteerView): string[] {
  if (steer.became_run_id !== null) {
    return [
      `${steer.agent_id} was not working in that conversation: the message is now run ${steer.became_run_id}.`,
      `See it with flotilla runs ${steer.became_run_id}.`,
    ]
  }
  return [
    `${steer.agent_id} is working on ${steer.run_id} and will read it before its next step (${steer.id}).`,
    `Check whether it has with flotilla runs ${steer.run_id}.`,
  ]
}
