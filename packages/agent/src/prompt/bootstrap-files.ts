import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { workspaceFiles } from '@flotilla/protocol/workspace-file'
import type { WorkspaceFile } from '@flotilla/protocol/workspace-file'
import type { Workspace } from '../workspace/workspace.ts'

/** The maximum length of all bootstrap files together, in characters. */
const bootstrapMaxChars = 48_000 // limits:bootstrap-chars

export interface BootstrapText {
  readonly file: WorkspaceFile
  readonly content: string
}

const separator = '\n\n---\n\n'
const cutNote = '\n[truncated: longer than its limit; memory_search finds the rest]'

/**
 * The workspace files that are part of the prompt, in order. Unmodified default files and empty files are left out.
 */
export async function readBootstrapFiles(workspace: Workspace): Promise<readonly BootstrapText[]> {
  const texts: BootstrapText[] = []
  for (const file of bootstrapFiles()) {
    if (await workspace.isDefault(file.name)) continue
    const content = await workspace.read(file.name)
    if (content.trim() !== '') texts.push({ file, content })
  }
  return texts
}

function bootstrapFiles(): readonly WorkspaceFile[] {
  const ordered: WorkspaceFile[] = workspaceFiles.filter((file) => file.bootstrapOrder !== null)
  return ordered.sort((a, b) => (a.bootstrapOrder ?? 0) - (b.bootstrapOrder ?? 0))
}

/**
 * Files that get the remaining room: PROJECT.md has no limit, and with the limits of these two the total
 * would be too long.
 */
const flexible: ReadonlySet<string> = new Set(['PROJECT.md', 'AGENTS.md', 'INTERFACE.md'])

/**
 * Each file within its limit and all of them within `maxChars`, headings and separators included. The
 * flexible files share, in order, what the other files leave. Pure.
 */
export function joinBootstrap(
  texts: readonly BootstrapText[],
  maxChars: number = bootstrapMaxChars,
): PromptText {
  const heading = (text: BootstrapText): string => `[${text.file.name}]\n`
  const capped = texts.map((text) => {
    const clean = sanitizeForPrompt(text.content.trim())
    return text.file.maxChars === null ? clean : truncatePromptText(clean, text.file.maxChars, cutNote)
  })
  const frame = texts.reduce((sum, text) => sum + heading(text).length + separator.length, 0)
  const fixed = capped.reduce(
    (sum, content, index) => sum + (isFlexible(texts[index]) ? 0 : content.length),
    0,
  )
  let room = Math.max(0, maxChars - frame - fixed)
  const parts = texts.map((text, index) => {
    const content = capped[index]! // one for each text
    if (!isFlexible(text)) return sanitizeForPrompt(heading(text) + content)
    const fitted = truncatePromptText(content, room, room > cutNote.length ? cutNote : '')
    room -= fitted.length
    return sanitizeForPrompt(heading(text) + fitted)
  })
  return truncatePromptText(joinPromptText(parts, separator), maxChars, '')
}

function isFlexible(text: BootstrapText | undefined): boolean {
  return text !== undefined && flexible.has(text.file.name)
}
