import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { parseFirst, readJsonQuietly } from '../../../intake/index.ts'
import { redact } from '../../../credentials/index.ts'
import type { UsageRule } from '../usage.ts'
import { chatAnswerSchema, messagesUsage, plainReasoning, stopReasonFrom, textIn } from './chat-answer.ts'
import type { Said } from './chat-answer.ts'
import { blockFromReasoning, readReasoningDetails, sealedSignature } from './reasoning-details.ts'
import type { ReasoningDetail } from './reasoning-details.ts'

/** Makes the events of a message from the chunks of a chat completion, one stream each. */
interface MessageEvents {
  /** `data` is what one event of the chat says. Throws the Problem `upstream-failed` where that is an error. */
  take(data: string): string
  /** Throws the Problem `upstream-failed` for a stream that has no end. */
  rest(): string
}

const errorSchema = z.looseObject({
  error: z.union([z.string(), z.looseObject({ message: z.string().nullish() })]),
})

/** The block that is being written; calls are written side by side and closed at the end. */
interface OpenBlock {
  readonly kind: 'thinking' | 'text'
  readonly index: number
}

export function createMessageEvents(model: string, rule: UsageRule = {}): MessageEvents {
  let hasBegun = false
  let hasEnded = false
  let blocks = 0
  let open: OpenBlock | null = null
  let finish: string | null = null
  let isRefused = false
  let usage: unknown = null
  const calls = new Map<number, number>()

  function begin(id: string): string {
    if (hasBegun) return ''
    hasBegun = true
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      // Chats tell their usage at the end; the last event corrects this.
      usage: { input_tokens: 0, output_tokens: 0 },
    }
    return event('message_start', { message })
  }

  function close(): string {
    if (open === null) return ''
    const { index } = open
    open = null
    return event('content_block_stop', { index })
  }

  function write(kind: OpenBlock['kind'], delta: object): string {
    let text = ''
    if (open?.kind !== kind) {
      text += close()
      open = { kind, index: blocks++ }
      const block =
        kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
      text += event('content_block_start', { index: open.index, content_block: block })
    }
    return text + event('content_block_delta', { index: open.index, delta })
  }

  function think(detail: ReasoningDetail): string {
    if (detail.type === 'reasoning.encrypted') {
      const index = blocks
      blocks++
      return (
        close() +
        event('content_block_start', { index, content_block: blockFromReasoning(detail) }) +
        event('content_block_stop', { index })
      )
    }
    let text = ''
    if (detail.text) text += write('thinking', { type: 'thinking_delta', thinking: detail.text })
    if (detail.signature) {
      text += write('thinking', { type: 'signature_delta', signature: sealedSignature(detail) }) + close()
    }
    return text
  }

  function call(part: NonNullable<Said['tool_calls']>[number], position: number): string {
    const key = part.index ?? position
    let index = calls.get(key)
    let text = ''
    if (index === undefined) {
      index = blocks++
      calls.set(key, index)
      const block = {
        type: 'tool_use',
        id: part.id ?? `toolu_${key}`,
        name: part.function?.name ?? '',
        input: {},
      }
      text += close() + event('content_block_start', { index, content_block: block })
    }
    const json = part.function?.arguments
    if (json)
      text += event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: json } })
    return text
  }

  function say(said: Said): string {
    const details = readReasoningDetails(said.reasoning_details)
    let text = details.map(think).join('')
    const thought = details.length === 0 ? plainReasoning(said) : ''
    if (thought !== '') text += write('thinking', { type: 'thinking_delta', thinking: thought })
    const words = textIn(said.content) + (said.refusal ?? '')
    if (said.refusal) isRefused = true
    if (words !== '') text += write('text', { type: 'text_delta', text: words })
    return text + (said.tool_calls ?? []).map(call).join('')
  }

  function end(): string {
    if (hasEnded) return ''
    hasEnded = true
    const open = close() + [...calls.values()].map((index) => event('content_block_stop', { index })).join('')
    const reason = isRefused ? 'refusal' : stopReasonFrom(finish)
    return (
      begin('msg') +
      open +
      event('message_delta', {
        delta: { stop_reason: reason, stop_sequence: null },
        usage: messagesUsage(usage, rule),
      }) +
      event('message_stop', {})
    )
  }

  return {
    take(data) {
      if (data === '[DONE]') {
        if (finish === null) throw brokenOff()
        return end()
      }
      const parsed = parseFirst(chatAnswerSchema, readJsonQuietly(data, jsonLimits.modelAnswer))
      if (!parsed.success) throw failureIn(data)
      if (parsed.data.usage !== null && parsed.data.usage !== undefined) usage = parsed.data.usage
      const choice = parsed.data.choices[0]
      finish = choice?.finish_reason ?? finish
      return begin(parsed.data.id ?? 'msg') + (choice?.delta ? say(choice.delta) : '')
    },
    rest() {
      if (hasEnded) return ''
      // Some servers leave the last word out; an answer with a reason for its end is whole.
      if (finish === null) throw brokenOff()
      return end()
    },
  }
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}

function brokenOff(): Problem {
  return new Problem('upstream-failed', { detail: 'the model broke off its answer' })
}

function failureIn(data: string): Problem {
  const parsed = parseFirst(errorSchema, readJsonQuietly(data, jsonLimits.modelAnswer))
  if (!parsed.success) {
    return new Problem('upstream-failed', { detail: 'the stream of the model is no chat completion' })
  }
  const { error } = parsed.data
  const message = typeof error === 'string' ? error : (error.message ?? '')
  return new Problem('upstream-failed', { detail: redact(message, []).slice(0, 500) || 'the model failed' })
}
