import { doneMark } from '../answer/done-mark.ts'
import { isFilledError } from '../answer/error-in-answer.ts'
import type { Frame } from '../answer/event-lines.ts'
import { wireValues } from '../answer/wire-values.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'

/** Data of events that only keep a connection open; the reader of chat completions skips it. */
const noObject = /^(?!\s*["{[])/

/**
 * Returns a frame of Cohere's chats as frames of a chat completion. A value that has the form of chat completions
 * already, an unknown one, and an error stay as they are, for the reader of chat completions to judge. Pure.
 */
export function chatFramesOfCohere(frame: Frame): readonly Frame[] {
  const text = frame.data.trim()
  if (doneMark.test(text) || frame.event === 'stray' || noObject.test(text)) return [frame]
  return wireValues(text, []).flatMap(({ written }) => {
    const chat = chatOf(membersOf(written), frame.event)
    if (chat === null) return []
    return { event: frame.event === 'whole' ? 'whole' : 'message', data: JSON.stringify(chat) }
  })
}

/** Returns the chat completion, or its event; null for an event without content. */
function chatOf(value: Members, event: string): Members | null {
  if ('choices' in value || isFilledError(value['error'])) return value
  const given = value['type'] ?? value['event_type']
  const type = typeof given === 'string' ? given : event
  const delta = membersOf(value['delta'])
  const message = membersOf(delta['message'])
  switch (type.toLowerCase().replaceAll(/[_.]/g, '-')) {
    case 'message-start':
      return { ...idOf(value), choices: [{ index: 0, delta: { role: 'assistant', ...contentOf(message) } }] }
    case 'content-start':
    case 'content-delta':
    case 'tool-plan-delta':
      return said(contentOf('message' in delta ? message : delta))
    case 'tool-call-start':
    case 'tool-call-delta':
      return called(message['tool_calls'] ?? delta['tool_calls'] ?? delta['tool_call'], value['index'])
    case 'content-end':
    case 'tool-call-end':
    case 'citation-start':
    case 'citation-end':
    case 'debug':
      return null
    case 'message-end':
      return ended({ ...value, ...delta })
    case 'error':
      return { error: value }
    default:
      return 'message' in value || 'finish_reason' in value ? wholeOf(value) : value
  }
}

function said(delta: Members): Members {
  return { choices: [{ index: 0, delta }] }
}

/**
 * Returns the content with its plan as thinking: the model writes it before its calls. Content is a text, a part, or a
 * list of these, as chat completions have it too.
 */
function contentOf(message: Members): Members {
  const { content = message['text'], tool_plan: plan, thinking } = message
  const part = isRecord(content) && 'thinking' in content ? { type: 'thinking', ...content } : content
  const thought = plan ?? thinking
  return { content: part, ...(typeof thought === 'string' ? { reasoning_content: thought } : {}) }
}

/** Returns the piece of a call; a place beside it counts if it has none. */
function called(given: unknown, index: unknown): Members {
  const calls: readonly unknown[] = Array.isArray(given) ? given : [given]
  return said({ tool_calls: calls.filter(isRecord).map((call) => ({ index, ...call })) })
}

function ended(value: Members): Members {
  const { finish_reason: reason, error } = value
  if (isFilledError(error)) return { error }
  return { choices: [{ index: 0, delta: {}, finish_reason: reason ?? 'COMPLETE' }], usage: usageOf(value) }
}

function wholeOf(value: Members): Members {
  const { message, finish_reason: reason } = value
  // An error has its words in the place of the message.
  if (typeof message === 'string' && reason === undefined) return { error: { message } }
  const read = membersOf(message)
  const calls = read['tool_calls']
  return {
    ...idOf(value),
    choices: [
      {
        index: 0,
        message:
          typeof message === 'string' ? { content: message } : { ...contentOf(read), tool_calls: calls },
        finish_reason: reason,
      },
    ],
    usage: usageOf(value),
  }
}

/** Returns the usage of a chat completion: all tokens, else those that are billed. */
function usageOf({ usage, meta }: Members): Members | null {
  const given = membersOf(usage ?? meta)
  const tokens = membersOf(given['tokens'])
  const billed = membersOf(given['billed_units'])
  const input = tokens['input_tokens'] ?? billed['input_tokens']
  const output = tokens['output_tokens'] ?? billed['output_tokens']
  if (input === undefined && output === undefined) return isRecord(usage) ? usage : null
  return {
    prompt_tokens: input ?? 0,
    completion_tokens: output ?? 0,
    prompt_tokens_details: { cached_tokens: given['cached_tokens'] ?? null },
  }
}

function idOf({ id, generation_id: generation }: Members): Members {
  return { id: id ?? generation }
}
