import { createInterface } from 'node:readline'
import type { CliDeps } from '../context.ts'
import { singleLine } from './color.ts'

/** One line from the person at the terminal; empty where they only pressed Enter. Rejects on Ctrl-C. */
export async function askLine(
  { input, signal }: Pick<CliDeps, 'input' | 'signal'>,
  question: string,
): Promise<string> {
  const lines = createInterface({ input, output: process.stderr, terminal: true })
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('SIGINT', () => reject(new Error('interrupted')))
      lines.once('close', () => resolve(''))
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      lines.question(singleLine(question), (line) => resolve(line.trim()))
    })
  } finally {
    lines.close()
  }
}
