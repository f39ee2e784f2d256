import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { findToolName } from '@flotilla/protocol/findable-tools'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage, RequestedCall } from '../llm/language-model.ts'
import { madeCall } from './made-call.ts'

/**
 * Definitions that `find_tools` has brought into a conversation. They are lines of its results, so the conversation
 * is their only store: they survive a restart, later turns read them too, and the beginning of the prompt never
 * changes.
 */

/** Characters of definitions that a compaction keeps. */
const keptMaxChars = 6000

const keptHead = '[Tools that you found before this point. call_tool calls them.]'

/** The first line of a result with definitions, for models that have `call_tool`. */
export const describedHead = 'Call these with call_tool:'

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

/** A message with definitions: a result of `find_tools`, or what a compaction kept of such results. */
interface Described {
  readonly message: PromptMessage
  /** The lines with definitions, by the tool's name. */
  readonly lines: ReadonlyMap<string, string>
  /** The other lines, without the first one. */
  readonly others: readonly string[]
}

/** Returns the messages that describe tools, in their order. Pure. */
export function describedTools(messages: readonly PromptMessage[]): readonly Described[] {
  // A model may use an id again in a later answer, so a result belongs to the answer right before it.
  let searchIds: ReadonlySet<string> = new Set()
  return messages.flatMap((message): Described[] => {
    if (message.role === 'assistant') searchIds = searchesIn(message.toolCalls)
    const isAnswer = message.role === 'tool' && searchIds.has(message.toolCallId)
    if (!isAnswer && !isKeptDefinitions(message)) return []
    const lines = new Map<string, string>()
    const others: string[] = []
    for (const line of message.content.split('\n')) {
      const name = toolOfLine(line)
      if (name !== null) lines.set(name, line)
      else if (line !== describedHead) others.push(line)
    }
    return [{ message, lines, others }]
  })
}

function searchesIn(calls: readonly RequestedCall[]): ReadonlySet<string> {
  const isSearch = (call: RequestedCall) => madeCall(call).name === findToolName
  const others = new Set(calls.filter((call) => !isSearch(call)).map(({ id }) => id))
  return new Set(calls.filter((call) => isSearch(call) && !others.has(call.id)).map(({ id }) => id))
}

/** The definitions in these messages by the tool's name, as they were written; the latest of each tool. Pure. */
export function foundTools(messages: readonly PromptMessage[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { lines } of describedTools(messages)) {
    for (const [name, line] of lines) {
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
