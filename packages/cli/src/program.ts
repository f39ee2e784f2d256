import { Command } from 'commander'
import { commandTable } from './command-table.ts'
import type { CliDeps } from './context.ts'
import { exitCodeWords } from './exit-codes.ts'
import { helpColumns } from './help-width.ts'
import { wholeNumber } from './number-argument.ts'
import { helpAsTyped } from './terminal/typed-command.ts'
import { nameOurWord, refuseUnknownVerbs } from './refuse-unknown-verbs.ts'
import { suggestChoices } from './suggest-choice.ts'
import { askedPath } from './written-help.ts'

/** Global options whose next word is their value, and so is not the name of a command. */
const takesWord: readonly string[] = ['--home', '--port', '--url']

/** The command of a line: its first word that is neither an option nor an option's value. Pure. */
export function meantCommand(words: readonly string[]): string | null {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (takesWord.includes(word)) at++
    else if (word === '--') return words[at + 1] ?? null
    else if (word !== 'help' && !word.startsWith('-')) return word
  }
  return null
}

/**
 * A line that asks for help of a command that does not exist, without its wish for help: then the nearest command is
 * named. All other lines unchanged. Pure.
 */
export function withoutHelpOfNone(program: Command, words: readonly string[]): readonly string[] {
  const path = askedPath(words)?.split(' ') ?? []
  let command = program
  for (const word of path) {
    const next = command.commands.find((one) => one.name() === word)
    const takesOther = command.commands.length === 0 || command.registeredArguments.length > 0
    if (!next) return takesOther || word === '' ? words : path
    command = next
  }
  return words
}

/**
 * Builds the command line with the one command that a line uses. If it uses none, all commands are names only, for the
 * help and for suggestions. It never writes output or exits itself: usage errors are thrown.
 */
export async function createProgram(deps: CliDeps, words: readonly string[]): Promise<Command> {
  const meant = meantCommand(words)
  const groups = commandTable.flatMap((section) => section.groups)
  const isKnown = meant !== null && groups.some(({ commands }) => Object.hasOwn(commands, meant))
  const program = await programOf(deps, (names) => {
    if (!isKnown) return 'names'
    return names.includes(meant) ? 'commands' : 'nothing'
  })
  nameOurWord(program, meant)
  return program
}

/** The command line with all commands: for the man page, for completion, and for tests. */
export async function createWholeProgram(deps: CliDeps): Promise<Command> {
  return programOf(deps, () => 'commands')
}

async function programOf(
  deps: CliDeps,
  wanted: (names: readonly string[]) => 'commands' | 'names' | 'nothing',
): Promise<Command> {
  const program = emptyProgram(deps)
  for (const { title, groups } of commandTable) {
    for (const { commands, load } of groups) {
      const names = Object.keys(commands)
      const want = wanted(names)
      if (want === 'nothing') continue
      if (want === 'commands') (await load())(program, deps)
      else for (const name of names) program.command(name)
      for (const command of program.commands.slice(-names.length)) {
        command.summary(commands[command.name()] ?? '').helpGroup(`${title}:`)
        describe(command)
      }
    }
  }
  refuseUnknownVerbs(program)
  suggestChoices(program)
  return program
}

/** Sets the summary as description of each command that has none. */
function describe(command: Command): void {
  const summary = command.summary()
  if (command.description() === '') {
    command.description(`${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`)
    command.summary(summary)
  }
  for (const child of command.commands) describe(child)
}

function emptyProgram(deps: CliDeps): Command {
  return new Command('flotilla')
    .description(
      'Runs a fleet of autonomous agents, each in its own hardened container, behind one trusted control host.',
    )
    .option('--json', 'print only JSON on standard output: one value, or the error that ended the command')
    .option('--home <folder>', 'home folder of the fleet (default: FLOTILLA_HOME or ~/.flotilla)')
    .option('--port <number>', 'port of the mesh on 127.0.0.1 (default: 8420)', wholeNumber(1, 65_535))
    .option(
      '--url <url>',
      'address of a remote mesh; set FLOTILLA_TOKEN to your personal token, or FLOTILLA_SESSION to the session cookie',
    )
    .option('-V, --version', 'show the version, as flotilla version does')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void deps.out.write(helpAsTyped(text, deps.environment.command)),
      writeErr: (text) => void deps.err.write(text),
      getOutHelpWidth: () => helpColumns(deps.out.columns),
      getErrHelpWidth: () => helpColumns(deps.err.columns),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('Run it with --help to see its arguments and options.')
    .exitOverride()
    .addHelpText(
      'after',
      `
First steps:
  $ flotilla demo                     see everything work, in a minute or two
  $ flotilla init                     a fleet of your own: a model, tried out, and a first agent
  $ flotilla chat                     talk to its operator
  $ flotilla doctor                   when something does not work

Exit codes: ${exitCodeWords}`,
    )
}
