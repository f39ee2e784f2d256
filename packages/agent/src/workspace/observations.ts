import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { DataFiles } from '../files/data-files.ts'

/** The operator's own observations of its fleet: one line each time, the newest last. */
export const observationsFile = 'workspace/OBSERVATIONS.md'
/** Limit of one observation in characters. */
export const observationMaxChars = 1500
/** Number of lines that are kept; older ones are deleted. */
export const observationLinesMax = 50
/** Limit in characters for all observations in a prompt; the oldest are left out first. */
const shownMaxChars = 12_000
const readMaxBytes = 512 * 1024

/** Adds one observation; whitespace becomes one space, so that it stays one line. Resolves to the kept count. */
export async function saveObservation(
  { files, clock }: { readonly files: DataFiles; readonly clock: Clock },
  text: string,
): Promise<number> {
  const observation = sanitizeForPrompt(text.replaceAll(/\s+/g, ' ').trim())
  if (observation === '') throw new Problem('bad-request', { detail: '`text`: write at least one word.' })
  const at = new Date(clock.now()).toISOString().slice(0, 16)
  const lines = [...(await linesOf(files)), `- ${at} ${truncatePromptText(observation, observationMaxChars)}`]
  const kept = lines.slice(-observationLinesMax)
  await files.write(observationsFile, Buffer.from(`# OBSERVATIONS\n\n${kept.join('\n')}\n`), {
    durable: true,
  })
  return kept.length
}

/** The newest observations for a prompt; empty without any. */
export async function readObservations(files: DataFiles): Promise<PromptText> {
  const shown: string[] = []
  let chars = 0
  for (const line of (await linesOf(files)).toReversed()) {
    chars += line.length + 1
    if (chars > shownMaxChars) break
    shown.unshift(line)
  }
  return sanitizeForPrompt(shown.length === 0 ? '' : `[OBSERVATIONS.md]\n${shown.join('\n')}`)
}

async function linesOf(files: DataFiles): Promise<readonly string[]> {
  try {
    const text = (await files.read(observationsFile, readMaxBytes)).toString('utf8')
    return text.split('\n').filter((line) => line.startsWith('- '))
  } catch (error) {
    // If a program put anything but a file at this path, the next observation replaces it.
    if (error instanceof Problem) return []
    throw error
  }
}
