import { Readable } from 'node:stream'
import type { CommandContext } from '../context.ts'
import type { TextSink } from '../terminal/text-sink.ts'

/**
 * Runs commands that the user types at the prompt of a conversation, against the same mesh. They read standard input
 * only from `input`.
 */
export function createRunTypedCommand(
  context: CommandContext,
): (words: readonly string[], input?: string) => Promise<void> {
  const { terminal, place } = context
  const where = [
    ...(place.homeOnLine ? ['--home', place.home] : []),
    ...(place.port === undefined ? [] : ['--port', `${place.port}`]),
    ...(place.url === undefined ? [] : ['--url', place.url]),
  ]
  return async (words, input) => {
    const out = lineSink(terminal.print, { isTTY: terminal.isInteractive, columns: terminal.columns })
    const err = lineSink(terminal.note, { isTTY: false, columns: terminal.columns })
    try {
      await context.runLine(
        {
          environment: context.environment,
          clock: context.clock,
          out: out.sink,
          err: err.sink,
          input: Readable.from(input === undefined ? [] : [input]),
          newKey: context.newKey,
          signal: context.signal,
          onInterrupt: context.onInterrupt,
          setExitCode: () => undefined,
          runLine: context.runLine,
          wholeProgram: context.wholeProgram,
        },
        [...where, ...words],
      )
    } finally {
      out.end()
      err.end()
    }
  }
}

/** Passes whole lines to the terminal, because its last row may contain text that is being typed. */
function lineSink(
  print: (...lines: readonly string[]) => void,
  shape: { readonly isTTY: boolean; readonly columns: number },
): { readonly sink: TextSink; end(): void } {
  let rest = ''
  return {
    sink: {
      ...shape,
      write: (text) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        if (lines.length > 0) print(...lines)
      },
    },
    end: () => {
      if (rest !== '') print(rest)
      rest = ''
    },
  }
}
