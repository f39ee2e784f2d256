import { CommanderError } from 'commander'
import type { Environment } from './environment.ts'
import { exitCodeOf } from './exit-code-of.ts'
import type { ExitCode } from './exit-codes.ts'
import { isInterrupted } from './terminal/ask-line.ts'
import { createColor, hasColors } from './terminal/color.ts'
import { errorLines, formatError } from './terminal/format-error.ts'
import type { FormattedError } from './terminal/format-error.ts'
import { jsonLine } from './terminal/json-line.ts'
import type { TextSink } from './terminal/text-sink.ts'
import { asTyped } from './terminal/typed-command.ts'

/** Prints an error for programs: as the only JSON value on standard output of a failed command. */
export function printErrorValue(
  error: unknown,
  at: { readonly out: TextSink; readonly environment: Environment; readonly interrupted: boolean },
): void {
  const { code, detail, repair } = at.interrupted ? interruptedWords : describeError(error)
  const typed = (text: string) => asTyped(text, at.environment.command)
  at.out.write(jsonLine({ error: { code, detail: typed(detail), repair: typed(repair) } }))
}

const interruptedWords: FormattedError = {
  code: 'interrupted',
  detail: 'The command was interrupted.',
  repair: 'Run it again.',
}

function describeError(error: unknown): FormattedError {
  if (isInterrupted(error)) return interruptedWords
  if (!(error instanceof CommanderError)) return formatError(error)
  const detail = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  return { code: 'usage', detail, repair: 'Run it with --help to see its arguments and options.' }
}

/** Prints the error of a command on standard error, and returns the exit code. */
export function printError(
  error: unknown,
  at: { readonly err: TextSink; readonly environment: Environment; readonly interrupted: boolean },
): ExitCode {
  const color = createColor(hasColors(at.environment.colors, at.err.isTTY === true))
  if (at.interrupted || isInterrupted(error)) at.err.write('Interrupted.\n')
  else {
    const typed = (text: string) => asTyped(text, at.environment.command)
    at.err.write(`${errorLines(formatError(error), color, typed).join('\n')}\n`)
  }
  return exitCodeOf(error)
}
