import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

export function addApplyCommand(program: Command, deps: CliDeps): void {
  program
    .command('apply')
    .summary('create the workers of a template')
    .description(
      'Creates the workers of a template that do not exist yet; those that exist stay as they are.',
    )
    .argument('<template>', 'name of the template')
    .addHelpText('after', '\nExample:\n  $ flotilla apply licence-audit')
    .action(commandAction(deps, apply))
}

async function apply(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (
    await context.mesh()
  ).call('templateApply', { params: { name: operand(line, 0) }, signal })
  terminal.printJson(reply)
  terminal.print(
    reply.created.length === 0 ? 'Nothing to create.' : `Created: ${reply.created.join(', ')}.`,
    ...(reply.existing.length === 0 ? [] : [`Already there: ${reply.existing.join(', ')}.`]),
  )
}
