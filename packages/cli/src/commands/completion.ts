import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Argument } from 'commander'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** The build's file with the script of each shell: generating them loads every command. */
export const completionsFile = 'completions.json'

const scriptsSchema = z.record(z.enum(shells), z.string())

/** Returns the script from the build; null without a build. */
function writtenScript(shell: Shell): string | null {
  try {
    const text = readFileSync(join(dirname(process.argv[1] ?? ''), completionsFile), 'utf8')
    return scriptsSchema.parse(JSON.parse(text))[shell]
  } catch {
    return null
  }
}

/** Generates the script of each shell from the whole command line. */
export async function completionScripts(program: Command): Promise<Readonly<Record<Shell, string>>> {
  const { completionScript } = await import('../reference/completion-script.ts')
  return {
    bash: completionScript(program, 'bash'),
    zsh: completionScript(program, 'zsh'),
    fish: completionScript(program, 'fish'),
  }
}

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
        const shell = shells.find((name) => name === operand(line, 0)) ?? 'bash'
        const script = writtenScript(shell) ?? (await completionScripts(await deps.wholeProgram()))[shell]
        context.terminal.printJson({ shell, script })
        context.terminal.stream(script)
      }),
    )
}
