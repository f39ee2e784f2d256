import { deletedWithAgent, usesOf } from '@flotilla/client/agent-uses'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { describeDeletion, usesLines } from '../agent-uses.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { confirmByTyping } from '../terminal/confirm.ts'

export function addDeleteCommand(program: Command, deps: CliDeps): void {
  program
    .command('delete')
    .description(`Deletes an agent: ${deletedWithAgent}`)
    .argument('<agent>', 'id of the agent')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla delete auditor')
    .action(commandAction(deps, remove))
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const id = operand(line, 0)
  // Fails for a missing agent before the person has to type the agent's name.
  await client.call('agentConfig', { params: { id }, signal })
  const uses = await usesOf(client, id, signal)
  if (uses.length > 0) terminal.note(...usesLines(id, uses, terminal))
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: describeDeletion(id, uses),
      question: `Delete agent ${id} and its data permanently?`,
      answer: id,
    })
  }
  terminal.progress.step(`Deleting ${id}`)
  const reply = await client.call('agentDelete', { params: { id }, signal })
  terminal.progress.done()
  terminal.printJson(reply)
  terminal.print(`${reply.deleted} is deleted.`)
}
