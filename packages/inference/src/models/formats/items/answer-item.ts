import { findToolName } from '@flotilla/protocol/findable-tools'
import { isRecord } from '../empty-answer.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { callIn, callTypes } from '../answer/call-pieces.ts'
import { wordsOf } from '../answer/read-words.ts'
import { countIn } from '../usage.ts'

export type ItemKind = 'message' | 'call' | 'search' | 'thinking'

/** One item of an answer of the Responses API, with what has been written of it. */
export interface AnswerItem {
  readonly kind: ItemKind
  /** The position in the written answer; null until the item is begun there. */
  index: number | null
  readonly id: string
  callId: string
  name: string
  /** The words, the arguments of a call, or the summary of the thinking, so far. */
  text: string
  /** The words of each part of a message or of a summary, so far. */
  readonly parts: Map<unknown, string>
  encrypted: string
  isDone: boolean
}

/** Returns the items of a response: of a list, alone, by their index, or as the words alone. Pure. */
export function itemsIn(output: unknown): readonly unknown[] {
  if (Array.isArray(output)) return output
  if (typeof output === 'string') return output === '' ? [] : [{ type: 'message', content: output }]
  if (!isRecord(output)) return []
  return 'type' in output || 'content' in output ? [output] : Object.values(output)
}

/**
 * Returns the kind of an item; null for items of tools that run at the provider. A call may have the type of another
 * API, and a message none. Pure.
 */
export function kindOf(item: Members): ItemKind | null {
  if (callTypes.includes(item['type'])) return 'call'
  switch (item['type']) {
    case undefined:
    case null:
    case '':
      return 'content' in item ? 'message' : 'name' in item || 'function' in item ? 'call' : null
    case 'custom_tool_call':
      return 'call'
    case 'message':
      return 'message'
    case 'tool_search_call':
      return item['execution'] === 'server' ? null : 'search'
    case 'reasoning':
      return 'thinking'
    default:
      return null
  }
}

/** Returns an item as the provider documents it. Pure. */
export function printedItem(item: AnswerItem, isBegin: boolean): Members {
  const { id, text, encrypted } = item
  if (item.kind === 'message') {
    const content = isBegin ? [] : [{ type: 'output_text', text, annotations: [] }]
    return { type: 'message', id, role: 'assistant', content, status: statusOf(isBegin) }
  }
  if (item.kind === 'thinking') {
    const summary = isBegin || text === '' ? [] : [{ type: 'summary_text', text }]
    return {
      type: 'reasoning',
      id,
      summary,
      encrypted_content: isBegin || encrypted === '' ? null : encrypted,
    }
  }
  return {
    type: 'function_call',
    id,
    call_id: item.callId,
    name: item.kind === 'search' ? findToolName : item.name,
    arguments: isBegin ? '' : text,
    status: statusOf(isBegin),
  }
}

function statusOf(isBegin: boolean): string {
  return isBegin ? 'in_progress' : 'completed'
}

interface ItemPart {
  readonly at: number
  readonly text: string
  readonly isRefusal: boolean
}

/** Returns the parts of a message or of thinking as whole texts, and whether a part is a refusal. Pure. */
export function partsIn(item: Members): readonly ItemPart[] {
  if (item['type'] === 'reasoning') {
    const summary = textsIn(item['summary'])
    return summary.length > 0 ? summary : textsIn(item['content'])
  }
  return textsIn(item['content'])
}

function textsIn(content: unknown): readonly ItemPart[] {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
  return parts.flatMap((part, at): ItemPart[] => {
    if (typeof part === 'string') return [{ at, text: part, isRefusal: false }]
    const { text, refusal } = membersOf(part)
    if (typeof refusal === 'string' && refusal !== '') return [{ at, text: refusal, isRefusal: true }]
    return text === undefined || text === null ? [] : [{ at, text: wordsOf(text), isRefusal: false }]
  })
}

/** Returns arguments as text; some servers write them as an object, whose numbers must keep their digits. Pure. */
export function argumentsIn(item: Members, written: Members): string | null {
  const given = item['arguments']
  if (typeof given === 'string') return given
  return isRecord(given)
    ? JSON.stringify(written['arguments'] ?? given)
    : (callIn(written)?.arguments ?? null)
}

/** Returns the usage with the members that can be read as counts; null without any. Pure. */
export function usageIn({ usage }: Members): Members | null {
  const given = membersOf(usage)
  const input = countIn(given['input_tokens'] ?? given['prompt_tokens'])
  const output = countIn(given['output_tokens'] ?? given['completion_tokens'])
  if (input === null && output === null) return null
  const ofInput = membersOf(given['input_tokens_details'] ?? given['prompt_tokens_details'])
  const ofOutput = membersOf(given['output_tokens_details'] ?? given['completion_tokens_details'])
  return {
    input_tokens: input ?? 0,
    input_tokens_details: {
      cached_tokens: countIn(ofInput['cached_tokens']) ?? 0,
      cache_write_tokens: countIn(ofInput['cache_write_tokens']) ?? 0,
    },
    output_tokens: output ?? 0,
    output_tokens_details: { reasoning_tokens: countIn(ofOutput['reasoning_tokens']) ?? 0 },
  }
}
