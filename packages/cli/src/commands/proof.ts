import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

export function addProofCommand(program: Command, deps: CliDeps): void {
  program
    .command('proof')
    .summary('print the code that a page asks for before decisions of the owner')
    .description(
      'The dashboard asks for a code of the owner before it approves, deletes, or changes people and credentials. The code is valid for five minutes and works once; the page may then continue for ten minutes.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla proof')
    .action(commandAction(deps, proof))
}

async function proof(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('proofCode', { signal })
  terminal.printJson(reply)
  terminal.print(reply.code, 'Type it into the page that asks for it; it is valid for five minutes.')
}
