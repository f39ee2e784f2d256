import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonAsWritten, readJsonQuietly } from '@flotilla/foundation/intake'
import type { AnswerEnd, SaidNews } from '../answer/answer-reader.ts'
import type { NormalEnd } from '../answer/end-reasons.ts'
import type { normalCalls } from '../answer/write-normal.ts'
import type { UsageRule } from '../usage.ts'
import { blockFromReasoning, readReasoningDetails, sealedSignature } from './reasoning-details.ts'
import type { ReasoningDetail } from './reasoning-details.ts'
import { billedUsage, usageFrom } from '../usage.ts'

/** Writes the events of a message stream from an answer in the normal form. One per stream. */
interface MessageEvents {
  news(output: SaidNews, id: string): string
  end(end: AnswerEnd, id: string, made: ReturnType<typeof normalCalls>): string
}

/** The block that is being written. */
interface OpenBlock {
  readonly kind: 'thinking' | 'text'
  readonly index: number
}

export function createMessageEvents(model: string, rule: UsageRule = {}): MessageEvents {
  let hasBegun = false
  let blocks = 0
  let open: OpenBlock | null = null

  function begin(id: string): string {
    if (hasBegun) return ''
    hasBegun = true
    const message = {
      id: id === '' ? 'msg' : id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      // A chat completion reports its usage at the end; the last event corrects these zeros.
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

  function whole(block: object, deltas: readonly object[] = []): string {
    const index = blocks++
    return [
      close(),
      event('content_block_start', { index, content_block: block }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ].join('')
  }

  function think(detail: ReasoningDetail): string {
    if (detail.type === 'reasoning.encrypted') return whole(blockFromReasoning(detail))
    let text = ''
    if (detail.text) text += write('thinking', { type: 'thinking_delta', thinking: detail.text })
    if (detail.signature) {
      text += write('thinking', { type: 'signature_delta', signature: sealedSignature(detail) }) + close()
    }
    return text
  }

  function writeContent({ text, thoughts }: Pick<SaidNews, 'text' | 'thoughts'>): string {
    const thought = readReasoningDetails(thoughts).map(think).join('')
    return thought + (text === '' ? '' : write('text', { type: 'text_delta', text }))
  }

  return {
    news: (output, id) => begin(id) + writeContent(output),
    end(end, id, made) {
      const content = writeContent({ text: end.text, thoughts: [...end.thoughts, ...made.seals] })
      const calls = made.calls.map((call) =>
        whole({ type: 'tool_use', id: call.id, name: call.function.name, input: {} }, [
          { type: 'input_json_delta', partial_json: inputText(call.function.arguments) },
        ]),
      )
      return (
        begin(id) +
        content +
        calls.join('') +
        close() +
        event('message_delta', {
          delta: { stop_reason: stopReasons[end.end], stop_sequence: null },
          usage: messagesUsage(end.usage, rule),
        }) +
        event('message_stop', {})
      )
    },
  }
}

const stopReasons: Readonly<Record<NormalEnd, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** Writes an answer in the normal form as one message, as JSON text. Pure. */
export function messageFromNormal(
  head: { readonly id: string; readonly model: string },
  output: Pick<SaidNews, 'text' | 'thoughts'>,
  { end, made, rule = {} }: { end: AnswerEnd; made: ReturnType<typeof normalCalls>; rule?: UsageRule },
): string {
  const blocks: JsonObject[] = readReasoningDetails(output.thoughts).map(blockFromReasoning)
  if (output.text !== '') blocks.push({ type: 'text', text: output.text })
  const calls = made.calls.map(({ id, function: { name, arguments: text } }) => ({
    type: 'tool_use',
    id,
    name,
    input: readJsonAsWritten(inputText(text), jsonLimits.modelAnswer),
  }))
  return JSON.stringify({
    id: head.id === '' ? 'msg' : head.id,
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: [...blocks, ...calls],
    stop_reason: stopReasons[end.end],
    stop_sequence: null,
    usage: messagesUsage(end.usage, rule),
  })
}

/** Returns the input of a call as the text of an object; other text is wrapped as `invalid_json`. Pure. */
export function inputText(text: string): string {
  if (text.trim() === '') return '{}'
  return isJsonObject(readJsonQuietly(text, jsonLimits.modelAnswer))
    ? text
    : JSON.stringify({ invalid_json: text })
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}

/**
 * Converts a usage to the Messages API, where the prompt excludes cached tokens (read or written), and the output
 * includes all billed tokens. Pure.
 */
function messagesUsage(value: unknown, rule: UsageRule): Record<string, number> {
  const reported = usageFrom(value)
  if (reported === null) return { input_tokens: 0, output_tokens: 0 }
  const usage = billedUsage(reported, rule)
  const written = usage.cacheWriteTokens ?? 0
  return {
    input_tokens: Math.max(0, usage.promptTokens - usage.cachedTokens - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
    ...(usage.statedUsd === undefined ? {} : { cost: usage.statedUsd }),
  }
}
