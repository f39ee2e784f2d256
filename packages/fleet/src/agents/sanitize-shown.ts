import type * as z from 'zod'
import type { FactView, folderSchema, ShownEntry } from '@flotilla/protocol/kept-api'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ListedTool } from './connection/agent-connection.ts'

/** The name that is shown if a name has no visible characters. */
const unseenName = '(no visible name)'

/** Returns a name in one line, without invisible or bidirectional control characters. Pure. */
export function shownName(name: string): string {
  const shown = sanitizeForPrompt(name).replaceAll(/[\t\r\n]+/g, ' ')
  return shown.trim() === '' ? unseenName : shown
}

/** Adds a cleaned name to each entry. The original name stays, because callers request an entry by it. Pure. */
export function shownFolder(folder: z.infer<typeof folderSchema>) {
  const entries = folder.entries.map((entry): ShownEntry => ({ ...entry, shown: shownName(entry.name) }))
  return { ...folder, entries }
}

/** Cleans a fact for people, because a program in the container may have written uncleaned text. Pure. */
export function shownFact(fact: FactView): FactView {
  const { source } = fact
  return {
    ...fact,
    key: fact.key === null ? null : sanitizeForPrompt(fact.key),
    text: sanitizeForPrompt(fact.text),
    category: sanitizeForPrompt(fact.category),
    source: {
      run_id: sanitizeForPrompt(source.run_id),
      tool: sanitizeForPrompt(source.tool),
      origin: sanitizeForPrompt(source.origin),
      channel: sanitizeForPrompt(source.channel),
      urls: source.urls.map((url) => sanitizeForPrompt(url)),
    },
  }
}

/** Returns the description of a tool for people. Pure. */
export function shownTool({ name, description, source }: ListedTool) {
  return {
    name: sanitizeForPrompt(name),
    description: sanitizeForPrompt(description),
    source: sanitizeForPrompt(source),
  }
}
