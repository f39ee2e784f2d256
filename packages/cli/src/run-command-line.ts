import { randomUUID } from 'node:crypto'
import { systemClock } from '@flotilla/client/system-clock'
import { CommanderError } from 'commander'
import type { CliDeps } from './context.ts'
import { readEnvironment } from './environment.ts'
import { exitCodes } from './exit-codes.ts'
import type { ExitCode } from './exit-codes.ts'
import { createInterrupts } from './interrupts.ts'
import type { Interrupts } from './interrupts.ts'
import { createProgram, createWholeProgram, withoutHelpOfNone } from './program.ts'
import { commandFor } from './terminal/typed-command.ts'
import type { TextSink } from './terminal/text-sink.ts'

/** Runs the command line and returns the exit code. Errors are printed on standard error. */
export async function runCommandLine(given: readonly string[]): Promise<ExitCode> {
  const interrupts = createInterrupts(systemClock.now)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupts.interrupt)
  // If the reader of the output has gone (`flotilla events | head`), the command ends quietly.
  process.stdout.on('error', () => process.exit(exitCodes.ok))
  return runWords(given, {
    environment: readEnvironment(),
    out: process.stdout,
    err: process.stderr,
    input: process.stdin,
    interrupts,
  })
}

/** The surroundings of a command line, in any process that runs it. */
export interface Surroundings extends Pick<CliDeps, 'environment' | 'out' | 'err' | 'input'> {
  readonly interrupts: Interrupts
}

/** Runs a command line like `runCommandLine`, in the given surroundings. */
export async function runWords(line: readonly string[], around: Surroundings): Promise<ExitCode> {
  const words = isVersionAsked(line) ? ['version'] : line
  const { interrupts, ...given } = around
  const { environment } = given
  const streams = {
    ...given,
    environment: { ...environment, command: commandFor(environment.command, words) },
  }
  let wrote = false
  let exitCode: ExitCode = exitCodes.ok
  const deps: CliDeps = {
    ...streams,
    out: watched(streams.out, () => (wrote = true)),
    clock: systemClock,
    newKey: randomUUID,
    signal: interrupts.signal,
    onInterrupt: interrupts.onInterrupt,
    setExitCode: (code) => (exitCode = code),
    runLine,
    wholeProgram: () => createWholeProgram(deps),
  }
  try {
    const program = await createProgram(deps, words)
    if (words.length === 0) program.outputHelp()
    else await program.parseAsync([...withoutHelpOfNone(program, words)], { from: 'user' })
    return exitCode
  } catch (error) {
    const isUsage = error instanceof CommanderError
    // commander reports a request for help as an error with exit code 0.
    if (isUsage && error.exitCode === 0) return exitCodes.ok
    const { printError, printErrorValue } = await import('./print-error.ts')
    const interrupted = interrupts.signal.aborted
    if (isJsonAsked(words) && !wrote) printErrorValue(error, { ...streams, interrupted })
    // Commander has written usage errors already.
    return isUsage ? exitCodes.usage : printError(error, { ...streams, interrupted })
  }
}

/** Wraps a stream and calls `onWrite` before each write. */
function watched(sink: TextSink, onWrite: () => void): TextSink {
  return {
    write(text) {
      onWrite()
      return sink.write(text)
    },
    get isTTY() {
      return sink.isTTY
    },
    get columns() {
      return sink.columns
    },
    on: (event, listener) => sink.on?.(event, listener),
    off: (event, listener) => sink.off?.(event, listener),
  }
}

/** True if `--json` is anywhere on the line before `--`. */
function isJsonAsked(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return (end === -1 ? words : words.slice(0, end)).includes('--json')
}

/** Whether the line asks for the version, by the usual option of programs or by the command. */
function isVersionAsked(words: readonly string[]): boolean {
  return words.length === 1 && (words[0] === '--version' || words[0] === '-V')
}

async function runLine(deps: CliDeps, words: readonly string[]): Promise<void> {
  try {
    const program = await createProgram(deps, words)
    await program.parseAsync([...words], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
  }
}
