import type { Thought } from '@flotilla/protocol/normal-answer'
import { isRecord } from '../empty-answer.ts'
import type { SaidPart, WireSaid } from './chat-wire.ts'

/**
 * Thinking in the form of `reasoning_details` with two more members: `from` names the provider, and `field` its
 * original field. So the provider gets it back in its own form, and no other provider gets it at all.
 */

/** The field in which a provider sends the thinking of a model. */
export type ThoughtField =
  | 'reasoning_content'
  | 'reasoning'
  | 'reasoning_text'
  | 'thinking'
  | 'thinking_blocks'
  | 'reasoning_details'
  | 'content'
  | 'think_tag'
  | 'extra_content'

/** The format of thinking that no provider has signed. */
export const plainFormat = 'plain'
export const claudeFormat = 'anthropic-claude-v1'
export const geminiFormat = 'google-gemini-v1'

const detailNames = ['type', 'text', 'summary', 'signature', 'data', 'id', 'format'] as const
const detailTypes: readonly unknown[] = ['reasoning.text', 'reasoning.summary', 'reasoning.encrypted']

export function thoughtOf(
  text: string,
  at: { readonly field: ThoughtField; readonly from: string },
): Thought {
  return { type: 'reasoning.text', text, format: plainFormat, ...at }
}

/** Returns the thinking in one event or message, in its most exact form; other forms repeat the thinking. Pure. */
export function thoughtsIn(message: WireSaid, from: string): Thought[] {
  const details = (message.reasoning_details ?? []).flatMap((entry) => detailOf(entry, from))
  const seal = message.extra_content?.google?.thought_signature ?? ''
  if (seal !== '')
    details.push({
      type: 'reasoning.encrypted',
      data: seal,
      format: geminiFormat,
      field: 'extra_content',
      from,
    })
  if (details.length > 0) return details
  const blocks = (message.thinking_blocks ?? []).flatMap((entry) => blockOf(entry, from))
  if (blocks.length > 0) return blocks
  const texts = [
    ['reasoning_content', textIn(message.reasoning_content)],
    ['reasoning', textIn(message.reasoning ?? [])],
    ['thinking', textIn(message.thinking ?? [])],
    ['reasoning_text', message.reasoning_text],
    // A name that no documented API has is not sent back to the provider.
    ...(['thinking_content', 'thoughts', 'thought', 'thought_content'] as const).map(
      (name) => ['content', textIn(message[name] ?? [])] as const,
    ),
  ] as const
  const [first] = texts.filter(([, text]) => text !== '')
  return first === undefined ? [] : [thoughtOf(first[1], { field: first[0], from })]
}

function textIn(parts: readonly SaidPart[]): string {
  return parts.map((part) => part.text + part.thinking).join('')
}

function detailOf(entry: unknown, from: string): Thought[] {
  if (!isRecord(entry) || !detailTypes.includes(entry['type'])) return []
  const detail: Record<string, string | number> = { format: 'unknown' }
  for (const name of detailNames) {
    const value = entry[name]
    if (typeof value === 'string') detail[name] = value
  }
  if (typeof entry['index'] === 'number') detail['index'] = entry['index']
  return [{ ...detail, field: 'reasoning_details', from }]
}

/** Converts a thinking block in the form of Anthropic's messages, as LiteLLM forwards it. */
function blockOf(entry: unknown, from: string): Thought[] {
  if (!isRecord(entry)) return []
  const { type, thinking, signature, data } = entry
  const at = { format: claudeFormat, field: 'thinking_blocks', from }
  if (type === 'redacted_thinking' && typeof data === 'string')
    return [{ type: 'reasoning.encrypted', data, ...at }]
  if (type !== 'thinking') return []
  return [
    {
      type: 'reasoning.text',
      text: typeof thinking === 'string' ? thinking : '',
      ...(typeof signature === 'string' && signature !== '' ? { signature } : {}),
      ...at,
    },
  ]
}
