import { anthropicErrorEvent } from './anthropic-error.ts'
import type { ApiFormat } from './api-format.ts'
import { readMessagesParameters } from './messages-parameters.ts'
import { createMessagesStream, messageAsEvents } from './messages-stream.ts'
import { messagesUsageFrom } from './messages-usage.ts'
import { isRecord } from './empty-answer.ts'

/** `/v1/messages`. Answers of adapters have this form and are forwarded as the same bytes; errors get their body. */
export const messagesFormat: ApiFormat = {
  form: 'messages',
  read: readMessagesParameters,
  hasOutput: true,
  usageOf: (answer) => messagesUsageFrom(answer['usage']),
  saysNothing: saysNoMessage,
  usageWithCost: null,
  createStreamForm: createMessagesStream,
  wholeAsEvents: messageAsEvents,
  withErrorBody: (problem) => problem,
  errorEvent: anthropicErrorEvent,
}

/** Ends that explain a message without words: the caller's own bound, or the provider's filter. */
const explainedEnds: readonly unknown[] = ['max_tokens', 'refusal', 'model_context_window_exceeded']

/** Event types that frame a message and have no content. */
const framing: readonly unknown[] = ['message_start', 'ping', 'content_block_stop', 'message_stop']

/** Whether this message, or this event of its stream, has no word, no call and no stop reason. Pure. */
function saysNoMessage(value: Readonly<Record<string, unknown>>): boolean {
  const { type } = value
  if (type === 'message') {
    const { content } = value
    return !explainedEnds.includes(value['stop_reason']) && Array.isArray(content) && content.every(isEmpty)
  }
  if (type === 'message_delta') {
    return isRecord(value['delta']) && !explainedEnds.includes(value['delta']['stop_reason'])
  }
  if (type === 'content_block_start') return isEmpty(value['content_block'])
  if (type === 'content_block_delta') return isEmpty(value['delta'])
  return framing.includes(type)
}

/** Whether a block has no content. Only an empty text counts as empty, so that blocks of new types are content. */
function isEmpty(block: unknown): boolean {
  if (!isRecord(block)) return false
  const texts = ['text', 'thinking'].flatMap((field) => (field in block ? [block[field]] : []))
  return texts.length > 0 && texts.every((word) => word === '')
}
