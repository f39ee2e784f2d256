import type { Command } from 'commander'

/** One command as shells and pages need it. */
export interface CommandReference {
  /** `cron add`; empty for the command line itself. */
  readonly path: string
  readonly summary: string
  readonly options: readonly {
    readonly flags: string
    readonly names: readonly string[]
    readonly text: string
    /** What may stand behind it, where only some words may. */
    readonly choices: readonly string[]
  }[]
  /** Names of its commands, each with its summary. */
  readonly children: readonly { readonly name: string; readonly summary: string }[]
  /** What may stand behind it, by the names of its arguments. */
  readonly takes: readonly { readonly name: string; readonly choices: readonly string[] }[]
}

/** Every command of the program, parents before their children. Pure. */
export function readCommands(program: Command): readonly CommandReference[] {
  const walk = (command: Command, path: string): CommandReference[] => [
    {
      path,
      summary: command.summary() || command.description(),
      options: command.options.map(({ flags, long, short, description, argChoices }) => ({
        flags,
        names: [short, long].filter((name) => name !== undefined),
        text: description,
        choices: argChoices ?? [],
      })),
      children: command.commands.map((child) => ({ name: child.name(), summary: child.summary() })),
      takes: command.registeredArguments.map((argument) => ({
        name: argument.name(),
        choices: argument.argChoices ?? [],
      })),
    },
    ...command.commands.flatMap((child) =>
      walk(child, path === '' ? child.name() : `${path} ${child.name()}`),
    ),
  ]
  return walk(program, '')
}
