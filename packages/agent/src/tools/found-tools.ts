import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { findToolName } from '@flotilla/protocol/findable-tools'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'
import { madeCall } from './made-call.ts'

/**
 * Definitions that `find_tools` has brought into a conversation. They are lines of its results, so the conversation
 * is their only store: they survive a restart, later turns read them too, and the beginning of the prompt never
 * changes.
 */

/** Characters of definitions that a compaction keeps. */
const keptMaxChars = 6000

const keptHead = '[Tools that you found before this point. call_tool calls them.]'

/** Whether a line of a result is the definition of a tool, and of which. Pure. */
function toolOfLine(line: string): string | null {
  if (!line.startsWith('{"name":')) return null
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) && typeof value['name'] === 'string' ? value['name'] : null
  } catch {
    return null
  }
}

/** The definitions in these messages by the tool's name, as they were written; the latest of each tool. Pure. */
export function foundTools(messages: readonly PromptMessage[]): ReadonlyMap<string, string> {
  const searchIds = new Set<string>()
  const found = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const call of message.toolCalls) if (madeCall(call).name === findToolName) searchIds.add(call.id)
      continue
    }
    const isAnswer = message.role === 'tool' && searchIds.has(message.toolCallId)
    const isKept = isKeptDefinitions(message)
    if (!isAnswer && !isKept) continue
    for (const line of message.content.split('\n')) {
      const name = toolOfLine(line)
      if (name === null) continue
      // The latest comes last, so that the oldest are left out first.
      found.delete(name)
      found.set(name, line)
    }
  }
  return found
}

/**
 * Returns a message with the newest definitions, within the limit, that would leave the conversation together with
 * `dropped`; null without such definitions. Pure.
 */
export function keptDefinitions(
  dropped: readonly PromptMessage[],
  kept: readonly PromptMessage[],
): PromptMessage | null {
  const still = foundTools(kept)
  const lines: string[] = []
  let room = keptMaxChars
  for (const [name, line] of [...foundTools(dropped)].toReversed()) {
    room -= line.length
    if (room < 0) break
    if (!still.has(name)) lines.unshift(line)
  }
  if (lines.length === 0) return null
  return { role: 'user', content: sanitizeForPrompt([keptHead, ...lines].join('\n')) }
}

/** Whether a compaction wrote the message: it has no speaker. Pure. */
export function isKeptDefinitions(message: PromptMessage): boolean {
  return message.role === 'user' && message.by === undefined && message.content.startsWith(keptHead)
}
