import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps } from '../context.ts'
import { typedLine } from './ask-line.ts'

/** More characters than any secret has, so that a file meant for another command is not read to its end. */
const inputMaxChars = 64 * 1024

/**
 * Reads a secret from standard input, or from the terminal without showing it; never from the command line, which
 * other programs can see and shells store.
 */
export async function readSecret(
  deps: Pick<CliDeps, 'input' | 'err' | 'signal'>,
  question: string,
): Promise<string> {
  const text = deps.input.isTTY === true ? await askHidden(deps, question) : await readAll(deps.input)
  if (text.trim() !== '') return text
  throw new CommandFailed('no-value', {
    detail: 'The value is empty.',
    repair: 'Type the secret when asked, or send it on standard input: flotilla credentials set NAME < file',
  })
}

/** Asks for one line without showing what is typed. */
export async function askHidden(
  { input, err, signal }: Pick<CliDeps, 'input' | 'err' | 'signal'>,
  question: string,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: nowhere, terminal: true })
  // The question is printed after readline has switched off the echo, so typed text is never shown.
  err.write(question)
  try {
    return await typedLine(lines, signal)
  } finally {
    err.write('\n')
  }
}

/** Reads standard input, up to its limit. */
export async function readAll(input: CliDeps['input']): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > inputMaxChars) return text
  }
  return text
}
