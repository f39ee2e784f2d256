import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { failed } from './build-failed.ts'
import type { BuildContainer } from './build-container.ts'

/** The size of the part of a failed step's output that is quoted, in characters. */
const quotedMaxChars = 1_200

/** Runs a step that has to succeed; returns its standard output. */
export async function mustRun(container: BuildContainer, command: readonly string[]): Promise<string> {
  const done = await container.run({ command })
  if (done.code === 0) return done.stdout
  throw failed(`a step of the installation failed:\n${quoted(done.output)}`)
}

/** Returns the end of a step's output without credentials of addresses; registries and packages printed it. */
export function quoted(output: string): string {
  const text = output
    .trim()
    .slice(-quotedMaxChars)
    .replace(/\/\/[^/\s@]+@/g, '//')
  return sanitizeForPrompt(text)
}
