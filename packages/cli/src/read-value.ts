import { readFile } from 'node:fs/promises'
import { CommandFailed } from './command-failed.ts'

/** Returns a text as it was typed; a text that begins with @ names a file to read. */
export async function readValue(word: string): Promise<string> {
  if (!word.startsWith('@')) return word
  return readFile(word.slice(1), 'utf8').catch((error: unknown) => {
    throw new CommandFailed('file-unreadable', {
      detail: `${word.slice(1)} cannot be read: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: 'Check the path and its permissions.',
    })
  })
}
