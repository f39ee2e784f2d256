import { Readable } from 'node:stream'
import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import type { CliDeps } from './context.ts'
import { readEnvironment } from './environment.ts'
import { keepText, stillClock } from './fake-terminal.ts'
import { createWholeProgram } from './program.ts'

const err = keepText()
const deps: CliDeps = {
  environment: readEnvironment({ HOME: '/home/nobody' }),
  clock: stillClock,
  out: keepText(),
  err,
  input: Readable.from([]),
  newKey: () => 'key',
  signal: new AbortController().signal,
  onInterrupt: () => () => undefined,
  setExitCode: () => undefined,
  runLine: () => Promise.resolve(),
  wholeProgram: () => Promise.reject(new Error('nobody asks')),
}

function everyCommand(command: Command): readonly Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)])
}

/** The text of `--help`, including what was added to it. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (words) => (text += words) }).outputHelp()
  return text
}

const word = /(?:[^\s"']|"(?:\\.|[^"\\])*"|'[^']*')+/g

/** The arguments after `flotilla` in a shell line, one list for each occurrence; the text beside it explains it. */
function linesOf(example: string): readonly (readonly string[])[] {
  const [line = ''] = example.split(/\s{2,}/)
  const words = line.match(word) ?? []
  const parts: string[][] = [[]]
  for (const one of words) {
    if (['|', '&&', '<', '>', '>>'].includes(one)) parts.push([])
    else parts.at(-1)?.push(one.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'/g, '$1$2'))
  }
  return parts.flatMap((part) => {
    const at = part.findIndex((one) => !/^[A-Z_]+=/.test(one))
    return part[at] === 'flotilla' ? [part.slice(at + 1)] : []
  })
}

test('every example of every help is a line that the command line takes', async () => {
  const program = await createWholeProgram(deps)
  const commands = [program, ...everyCommand(program)]
  const examples = commands.flatMap((command) =>
    [...helpOf(command).matchAll(/^ +\$ (.*)$/gm)].flatMap(([, example = '']) => linesOf(example)),
  )
  // Parsed but not executed.
  for (const command of commands) if (command !== program) command.action(() => undefined)
  const refused: string[] = []
  for (const words of examples) {
    await program.parseAsync([...words], { from: 'user' }).catch((error: unknown) => {
      if (!(error instanceof CommanderError)) throw error
      // Help was requested.
      if (error.exitCode !== 0) refused.push(`flotilla ${words.join(' ')}: ${error.message}`)
    })
  }
  expect(examples.length).toBeGreaterThan(150)
  expect(refused).toEqual([])
})
