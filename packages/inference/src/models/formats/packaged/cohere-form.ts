import { chatFramesOfCohere } from './chat-from-cohere.ts'
import type { PackagedAnswer, PackagedForm, PackagedUsage } from './packaged-writer.ts'

/** The reasons for an end that the package knows; it returns another one as it is written. */
const reasons = {
  stop: 'COMPLETE',
  length: 'MAX_TOKENS',
  tool_calls: 'TOOL_CALL',
  content_filter: 'content_filter',
} as const

/**
 * The form of Cohere's chats, version 2. A call has no `tool-call-end`: the package would parse the arguments and print
 * them again, and reject some; the pieces are enough.
 */
export const cohereForm: PackagedForm = {
  chatFrames: chatFramesOfCohere,
  news: ({ text, thought }) =>
    (thought === '' ? '' : block(0, 'thinking', thought)) + (text === '' ? '' : block(1, 'text', text)),
  end: ({ calls, end, usage }) => {
    const called = calls.map((call, index) =>
      event({ type: 'tool-call-start', index, delta: { message: { tool_calls: callOf(call) } } }),
    )
    const delta = { finish_reason: reasons[end], usage: usageOf(usage) }
    return called.join('') + event({ type: 'message-end', delta })
  },
  whole: ({ id, text, thought, calls, end, usage }) =>
    JSON.stringify({
      generation_id: id,
      message: {
        role: 'assistant',
        content: [
          ...(thought === '' ? [] : [{ type: 'thinking', thinking: thought }]),
          ...(text === '' ? [] : [{ type: 'text', text }]),
        ],
        ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
      },
      finish_reason: reasons[end],
      usage: usageOf(usage),
    }),
}

function block(index: number, type: 'text' | 'thinking', words: string): string {
  return (
    event({ type: 'content-start', index, delta: { message: { content: { type, [type]: '' } } } }) +
    event({ type: 'content-delta', index, delta: { message: { content: { [type]: words } } } }) +
    event({ type: 'content-end', index })
  )
}

function callOf({ id, ...called }: PackagedAnswer['calls'][number]): object {
  return { id, type: 'function', function: called }
}

function usageOf({ prompt, answer, cached }: PackagedUsage): object {
  return { tokens: { input_tokens: prompt, output_tokens: answer }, cached_tokens: cached }
}

function event(one: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`
}
