import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

export function addRestartCommand(program: Command, deps: CliDeps): void {
  program
    .command('restart')
    .description('Recreates the container of an agent; its /data and its queue are kept.')
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla restart auditor')
    .action(commandAction(deps, restart))
}

async function restart(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  terminal.progress.step(`Re-creating the container of ${operand(line, 0)}`)
  const agent = await (
    await context.mesh()
  ).call('agentRestart', { params: { id: operand(line, 0) }, signal })
  terminal.progress.done()
  terminal.printJson(agent)
  terminal.print(`${agent.id} is ${agent.state}.`)
}
