import type { NormalAnswer } from './oddity.ts'

/** One oddity of a native wire, or of OpenAI's Responses API. */
export interface NativeOddity {
  readonly what: string
  readonly source: string
  readonly kind: 'anthropic' | 'google' | 'bedrock' | 'responses' | 'mistral' | 'cohere'
  readonly wire: string
  readonly normal: NormalAnswer | { readonly problem: string; readonly says?: string }
}

export function named(event: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
export const start = (usage: object = { input_tokens: 10, output_tokens: 1 }): string =>
  named({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  })
export const open = (index: number, content_block: object): string =>
  named({ type: 'content_block_start', index, content_block })
export const delta = (index: number, piece: object): string =>
  named({ type: 'content_block_delta', index, delta: piece })
export const close = (index: number): string => named({ type: 'content_block_stop', index })
export const ended = (reason: string | null, usage: object | null = { output_tokens: 5 }): string =>
  named({
    type: 'message_delta',
    delta: { stop_reason: reason, stop_sequence: null },
    ...(usage ? { usage } : {}),
  })
export const stop = named({ type: 'message_stop' })
export const text = (index: number, words: string): string =>
  open(index, { type: 'text', text: '' }) + delta(index, { type: 'text_delta', text: words }) + close(index)
export const json = (index: number, partial_json: string): string =>
  delta(index, { type: 'input_json_delta', partial_json })
export const tool = (id: string, input: unknown = {}): object => ({
  type: 'tool_use',
  id,
  name: 'look',
  input,
})

export const anthropic = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'docs.claude.com, streaming messages, and versioning',
  kind: 'anthropic',
  wire,
  normal,
})

/** An answer of thinking, in this block with these deltas, and then of words. */
export const thinkingThen = (block: object, ...deltas: readonly object[]): string =>
  start() +
  open(0, block) +
  deltas.map((piece) => delta(0, piece)).join('') +
  close(0) +
  text(1, 'Hello') +
  ended('end_turn') +
  stop
