import type { Environment } from './environment.ts'
import { exitCodeOf } from './exit-code-of.ts'
import type { ExitCode } from './exit-codes.ts'
import { isInterrupted } from './terminal/ask-line.ts'
import { createColor, hasColors } from './terminal/color.ts'
import { errorLines, formatError } from './terminal/format-error.ts'
import type { TextSink } from './terminal/text-sink.ts'
import { asTyped } from './terminal/typed-command.ts'

/** Says on standard error what ended a command, and gives the code to exit with. */
export function tellError(
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
