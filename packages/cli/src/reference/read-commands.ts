import type { Command } from 'commander'

/** One command as shells and pages need it. */
export interface CommandReference {
  /** The words of the command, such as `cron add`; empty for the command line itself. */
  readonly path: string
  readonly summary: string
  readonly options: readonly {
    readonly flags: string
    readonly names: readonly string[]
    readonly text: string
    /** The allowed values, if they are limited. */
    readonly choices: readonly string[]
    /** True if the option takes the next word as its value. */
    readonly takesValue: boolean
  }[]
  /** Names of the subcommands, each with its summary. */
  readonly children: readonly { readonly name: string; readonly summary: string }[]
  /** Its arguments, in order, by name. */
  readonly takes: readonly {
    readonly name: string
    readonly choices: readonly string[]
    /** The last argument may repeat. */
    readonly isVariadic: boolean
  }[]
}

/** Every command of the program, parents before their children. Pure. */
export function readCommands(program: Command): readonly CommandReference[] {
  const walk = (command: Command, path: string): CommandReference[] => [
    {
      path,
      summary: command.summary() || command.description(),
      options: command.options.map(({ flags, long, short, description, argChoices, required, optional }) => ({
        flags,
        names: [short, long].filter((name) => name !== undefined),
        text: description,
        choices: argChoices ?? [],
        takesValue: required || optional,
      })),
      children: command.commands.map((child) => ({ name: child.name(), summary: child.summary() })),
      takes: command.registeredArguments.map((argument) => ({
        name: argument.name(),
        choices: argument.argChoices ?? [],
        isVariadic: argument.variadic,
      })),
    },
    ...command.commands.flatMap((child) =>
      walk(child, path === '' ? child.name() : `${path} ${child.name()}`),
    ),
  ]
  return walk(program, '')
}
