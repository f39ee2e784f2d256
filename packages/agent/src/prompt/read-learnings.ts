import { Problem } from '@flotilla/protocol/problem'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { DataFiles } from '../files/data-files.ts'

const fileMaxBytes = 1024 * 1024
const linesMax = 20
const lineMaxChars = 300
const learningsMaxChars = 3000

const sources = [
  { path: 'workspace/learnings/errors.md', title: 'What failed before' },
  { path: 'workspace/learnings/corrections.md', title: 'How you were corrected' },
] as const

/** The newest lines of what the agent has learnt, within 3,000 characters; empty when it has learnt nothing. */
export async function readLearnings(files: DataFiles): Promise<PromptText> {
  const parts: PromptText[] = []
  for (const { path, title } of sources) {
    const lines = await newestLines(files, path)
    if (lines.length === 0) continue
    parts.push(joinPromptText([sanitizeForPrompt(`## ${title}`), ...lines], '\n'))
  }
  return truncatePromptText(joinPromptText(parts, '\n\n'), learningsMaxChars)
}

async function newestLines(files: DataFiles, path: string): Promise<readonly PromptText[]> {
  try {
    const text = (await files.read(path, fileMaxBytes)).toString('utf8')
    const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
    return lines
      .slice(-linesMax)
      .map((line) => truncatePromptText(sanitizeForPrompt(line), lineMaxChars, '…'))
  } catch (error) {
    if (error instanceof Problem) return []
    throw error
  }
}
