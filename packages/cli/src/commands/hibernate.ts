import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CliDeps } from '../context.ts'

export function addHibernateCommand(program: Command, deps: CliDeps): void {
  program
    .command('hibernate')
    .description(
      'Stops the container of an idle agent; its next work starts it again. Workers hibernate automatically after hibernate_after_minutes (config/settings.json).',
    )
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla hibernate auditor')
    .action(
      commandAction(deps, async (context, line) => {
        const id = operand(line, 0)
        const client = await context.mesh()
        const agent = await client.call('agentHibernate', { params: { id }, signal: context.signal })
        context.terminal.printJson(agent)
        context.terminal.print(`${id} is hibernated; its next work starts it.`)
      }),
    )
}
