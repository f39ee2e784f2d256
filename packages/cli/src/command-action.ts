import type { Command } from 'commander'
import type { CliDeps, CommandContext } from './context.ts'

/** The operands and options of one command line. */
export interface CommandLine {
  /** The operands, in order; a missing optional one is absent. */
  readonly operands: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

/** Binds a handler to a command: builds its context and reads its line. */
export function commandAction(
  deps: CliDeps,
  handler: (context: CommandContext, line: CommandLine) => Promise<void>,
): (...parameters: unknown[]) => Promise<void> {
  return async (...parameters) => {
    const command = parameters.at(-1) as Command // commander passes the command last, always
    // Loaded only here, because the help needs neither a mesh nor the code of its client.
    const { contextOf } = await import('./context.ts')
    const context = contextOf(deps, command)
    const { progress } = context.terminal
    try {
      await handler(context, { operands: command.args, options: command.opts() })
      progress.done()
    } catch (error) {
      // A progress indicator that kept running would keep the process alive, and Ctrl-C would not end it.
      progress.fail()
      throw error
    }
  }
}

/** A text option or undefined. */
export function textOption(line: CommandLine, name: string): string | undefined {
  const value = line.options[name]
  return typeof value === 'string' ? value : undefined
}

export function numberOption(line: CommandLine, name: string): number | undefined {
  const value = line.options[name]
  return typeof value === 'number' ? value : undefined
}

export function flagOption(line: CommandLine, name: string): boolean {
  return line.options[name] === true
}

/** An operand that the command declares as required; commander has refused a line without it. */
export function operand(line: CommandLine, index: number): string {
  const value = line.operands[index]
  if (value === undefined) throw new Error(`operand ${index} is declared as required`)
  return value
}
