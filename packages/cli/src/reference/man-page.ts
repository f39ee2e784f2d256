import type { Command } from 'commander'
import { commandTable } from '../command-table.ts'
import { exitCodeWords } from '../exit-codes.ts'
import { readCommands } from './read-commands.ts'
import type { CommandReference } from './read-commands.ts'

/** Flotilla's own text escaped for troff: no line starts a request, no character is an escape. Pure. */
function plain(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', '\\(cq')
    .replaceAll(/^(?=[.'])/gm, '\\&')
}

/** The manual page flotilla(1), made of the same table and lines as the help. `version` is the product's. Pure. */
export function manPage(program: Command, version: string): string {
  const byPath = new Map(readCommands(program).map((command) => [command.path, command]))
  const [all] = byPath.values()
  return [
    `.TH FLOTILLA 1 "" "Flotilla ${plain(version)}" "User Commands"`,
    '.SH NAME',
    `flotilla \\- ${plain('a fleet of autonomous agents, each in its own hardened container')}`,
    '.SH SYNOPSIS',
    '.B flotilla',
    '.RI [ options ] " command " [ arguments ]',
    '.SH DESCRIPTION',
    plain(program.description()),
    '.SH OPTIONS',
    ...(all?.options ?? []).flatMap(optionLines),
    '.SH COMMANDS',
    ...commandTable.flatMap(({ title, groups }) => [
      `.SS ${plain(title)}`,
      ...groups.flatMap(({ commands }) =>
        Object.keys(commands).flatMap((name) => commandLines(byPath, name)),
      ),
    ]),
    '.SH EXIT STATUS',
    plain(exitCodeWords),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, text]) => ['.TP', `.B ${name}`, plain(text)]),
    '.SH FILES',
    '.TP',
    '.I ~/.flotilla',
    plain('The home of a fleet: config/, data/, .env, templates/, cassettes/.'),
    '',
  ].join('\n')
}

function commandLines(byPath: ReadonlyMap<string, CommandReference>, path: string): string[] {
  const command = byPath.get(path)
  if (command === undefined) return []
  return [
    '.TP',
    `.B flotilla ${plain(path)}${command.takes.map(({ name }) => ` \\fI${plain(name)}\\fR`).join('')}`,
    `${plain(command.summary)}.`,
    ...command.options.flatMap((option) => ['.RS', ...optionLines(option), '.RE']),
    ...command.children.flatMap(({ name }) => commandLines(byPath, `${path} ${name}`)),
  ]
}

function optionLines({ flags, text }: CommandReference['options'][number]): string[] {
  return ['.TP', `.B ${plain(flags)}`, plain(text)]
}

const environment: readonly (readonly [string, string])[] = [
  ['FLOTILLA_HOME', 'Home folder of the fleet.'],
  ['FLOTILLA_URL', 'Address of a mesh elsewhere.'],
  ['FLOTILLA_TOKEN', 'Your personal token at such a mesh.'],
  ['FLOTILLA_SESSION', 'The session cookie at such a mesh.'],
  ['NO_COLOR', 'No colors.'],
  ['FORCE_COLOR', 'Colors also where no terminal is; 0 means none.'],
]
