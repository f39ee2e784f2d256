import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CliDeps } from '../context.ts'

export function addArchiveCommands(program: Command, deps: CliDeps): void {
  program
    .command('archive')
    .description(
      'Stops an agent, revokes its tokens, and gives it no work until flotilla unarchive. Its data, permissions and costs are kept.',
    )
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla archive auditor')
    .action(
      commandAction(deps, async (context, line) => {
        const id = operand(line, 0)
        context.terminal.progress.step(`Stopping ${id}`)
        const client = await context.mesh()
        const agent = await client.call('agentArchive', { params: { id }, signal: context.signal })
        context.terminal.progress.done()
        context.terminal.printJson(agent)
        context.terminal.hint(`${id} is archived. To undo: flotilla unarchive ${id}`)
      }),
    )
  program
    .command('unarchive')
    .description('Lets an archived agent work again. It starts when its next work arrives.')
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla unarchive auditor')
    .action(
      commandAction(deps, async (context, line) => {
        const id = operand(line, 0)
        const client = await context.mesh()
        const agent = await client.call('agentUnarchive', { params: { id }, signal: context.signal })
        context.terminal.printJson(agent)
        context.terminal.print(`${id} may work again.`)
      }),
    )
}
