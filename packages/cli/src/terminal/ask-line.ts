import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps } from '../context.ts'
import { singleLine } from './color.ts'

const interruptedCode = 'interrupted'

/** The error for a person who ended the command instead of answering. */
export const interrupted = (): CommandFailed =>
  new CommandFailed(interruptedCode, { detail: 'Interrupted.', repair: 'Run the command again.' })

export const isInterrupted = (error: unknown): error is CommandFailed =>
  error instanceof CommandFailed && error.code === interruptedCode

/** Reads one line from the person at the terminal; empty if they only pressed Enter. */
export async function askLine(
  { input, signal }: Pick<CliDeps, 'input' | 'signal'>,
  question: string,
): Promise<string> {
  const lines = createInterface({ input, output: process.stderr, terminal: true })
  lines.setPrompt(singleLine(question))
  lines.prompt()
  try {
    return (await typedLine(lines, signal)).trim()
  } catch (error) {
    // Enter ends the row of the question, so an error message starts on a new row.
    process.stderr.write('\n')
    throw error
  }
}

/**
 * Returns the next typed line and stops asking. Ctrl-C ends the command, and so does Ctrl-D: closing the input does
 * not mean accepting the default of Enter.
 */
export async function typedLine(lines: Interface, signal: AbortSignal): Promise<string> {
  const answered = new AbortController()
  try {
    signal.throwIfAborted()
    return await new Promise<string>((resolve, reject) => {
      const end = (): void => reject(interrupted())
      lines.once('line', resolve).once('SIGINT', end).once('close', end)
      signal.addEventListener('abort', () => reject(signal.reason), { signal: answered.signal })
    })
  } finally {
    answered.abort()
    lines.close()
  }
}
