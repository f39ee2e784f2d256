import { Argument } from 'commander'
import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

export function addCompletionCommand(program: Command, deps: CliDeps): void {
  program
    .command('completion')
    .description('Prints a script that lets a shell complete commands, options and names of agents.')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla completion bash > /etc/bash_completion.d/flotilla
  $ flotilla completion zsh > "\${fpath[1]}/_flotilla"
  $ flotilla completion fish > ~/.config/fish/completions/flotilla.fish`,
    )
    .action(
      commandAction(deps, async (context: CommandContext, line: CommandLine) => {
        const { completionScript } = await import('../reference/completion-script.ts')
        const shell = shells.find((name) => name === operand(line, 0)) ?? 'bash'
        const script = completionScript(await deps.wholeProgram(), shell)
        context.terminal.printJson({ shell, script })
        context.terminal.stream(script)
      }),
    )
}
