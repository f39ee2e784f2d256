import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { AnswerEnd, SaidNews } from '../answer/answer-reader.ts'
import type { normalCalls } from '../answer/write-normal.ts'
import { readReasoningDetails } from '../translate/reasoning-details.ts'
import type { ReasoningDetail } from '../translate/reasoning-details.ts'
import type { UsageRule } from '../usage.ts'
import { outputText, printedEvent, responseObject } from './response-object.ts'
import type { ResponseHead } from './response-object.ts'
import { encryptedContentOf } from './response-reasoning.ts'
import { customInput } from './response-tools.ts'
import type { ResponseTools } from './response-tools.ts'
import { responseUsage } from './response-usage.ts'

interface ResponseEventsNeeds {
  readonly head: ResponseHead
  readonly tools: ResponseTools
  readonly rule: UsageRule
  /** Returns a new id with this beginning, as in `msg_`. */
  readonly newId: (start: string) => string
}

/** The item that is being written. */
interface OpenItem {
  readonly kind: 'message' | 'reasoning'
  readonly id: string
  text: string
  encrypted: string | null
}

/**
 * Writes the events of a response from an answer in the normal form, and builds the whole response beside them. One per
 * answer.
 */
export function createResponseEvents({ head, tools, rule, newId }: ResponseEventsNeeds) {
  const output: JsonObject[] = []
  let sequence = 0
  let hasBegun = false
  let open: OpenItem | null = null

  function event(type: string, data: Readonly<Record<string, JsonValue>>): string {
    return printedEvent(type, { sequence_number: sequence++, ...data })
  }

  function begin(): string {
    if (hasBegun) return ''
    hasBegun = true
    const response = responseObject(head, { status: 'in_progress' })
    return event('response.created', { response }) + event('response.in_progress', { response })
  }

  /** Writes all events of an item that is whole from its start. */
  function whole(
    item: JsonObject,
    empty: JsonObject,
    between: (at: JsonObject) => string = () => '',
  ): string {
    const index = output.push(item) - 1
    return (
      event('response.output_item.added', { output_index: index, item: { ...item, ...empty } }) +
      between({ item_id: item['id'] ?? '', output_index: index }) +
      event('response.output_item.done', { output_index: index, item })
    )
  }

  function start(kind: OpenItem['kind']): string {
    const closed = close()
    const isMessage = kind === 'message'
    open = { kind, id: newId(isMessage ? 'msg_' : 'rs_'), text: '', encrypted: null }
    const place = { output_index: output.length }
    const at = { ...place, item_id: open.id }
    return (
      closed +
      (isMessage
        ? event('response.output_item.added', { ...place, item: messageItem(open.id, [], 'in_progress') }) +
          event('response.content_part.added', { ...at, content_index: 0, part: outputText('') })
        : event('response.output_item.added', { ...place, item: reasoningItem(open.id, '', null) }) +
          event('response.reasoning_summary_part.added', { ...at, summary_index: 0, part: summaryText('') }))
    )
  }

  function write(kind: OpenItem['kind'], delta: string): string {
    const started = open?.kind === kind ? '' : start(kind)
    if (open === null || delta === '') return started
    open.text += delta
    const at = { item_id: open.id, output_index: output.length }
    return (
      started +
      (kind === 'message'
        ? event('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] })
        : event('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta }))
    )
  }

  function close(status: 'completed' | 'incomplete' = 'completed'): string {
    if (open === null) return ''
    const { kind, id, text, encrypted } = open
    open = null
    const at = { item_id: id, output_index: output.length }
    const item =
      kind === 'message' ? messageItem(id, [outputText(text)], status) : reasoningItem(id, text, encrypted)
    const done =
      kind === 'message'
        ? event('response.output_text.done', { ...at, content_index: 0, text, logprobs: [] }) +
          event('response.content_part.done', { ...at, content_index: 0, part: outputText(text) })
        : event('response.reasoning_summary_text.done', { ...at, summary_index: 0, text }) +
          event('response.reasoning_summary_part.done', { ...at, summary_index: 0, part: summaryText(text) })
    return done + event('response.output_item.done', { output_index: output.push(item) - 1, item })
  }

  function think(detail: ReasoningDetail): string {
    const encrypted = encryptedContentOf(detail)
    if (detail.type === 'reasoning.encrypted') {
      const item = reasoningItem(newId('rs_'), '', encrypted)
      return encrypted === null ? '' : close() + whole(item, {})
    }
    let text = detail.text ? write('reasoning', detail.text) : ''
    if (encrypted === null) return text
    if (open?.kind !== 'reasoning') text += start('reasoning')
    if (open !== null) open.encrypted = encrypted
    return text + close()
  }

  function writeContent({ text, thoughts }: Pick<SaidNews, 'text' | 'thoughts'>): string {
    const thought = readReasoningDetails(thoughts).map(think).join('')
    return thought + (text === '' ? '' : write('message', text))
  }

  function writeCall({ id, function: called }: ReturnType<typeof normalCalls>['calls'][number]): string {
    const tool = tools.calledBy(called.name)
    const named = {
      call_id: id,
      name: tool?.name ?? called.name,
      ...(tool?.namespace ? { namespace: tool.namespace } : {}),
      status: 'completed',
    }
    const isCustom = tool?.kind === 'custom'
    const member = isCustom ? 'input' : 'arguments'
    const text = isCustom ? customInput(called.arguments) : called.arguments
    const type = isCustom ? 'custom_tool_call' : 'function_call'
    const event_ = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
    const item = { type, id: newId(isCustom ? 'ctc_' : 'fc_'), ...named, [member]: text }
    return whole(item, { [member]: '', status: 'in_progress' }, (at) => {
      const delta = text === '' ? '' : event(`${event_}.delta`, { ...at, delta: text })
      return (
        delta + event(`${event_}.done`, { ...at, [member]: text, ...(isCustom ? {} : { name: named.name }) })
      )
    })
  }

  return {
    news: (news: SaidNews): string => begin() + writeContent(news),
    /** Returns the last events, and the whole response. */
    end(end: AnswerEnd, made: ReturnType<typeof normalCalls>): { events: string; response: JsonObject } {
      const begun = begin()
      const content = writeContent({ text: end.text, thoughts: [...end.thoughts, ...made.seals] })
      const reason =
        end.end === 'length'
          ? 'max_output_tokens'
          : end.end === 'content_filter'
            ? 'content_filter'
            : undefined
      const status = reason === undefined ? 'completed' : 'incomplete'
      const closed = close(status)
      const calls = made.calls.map(writeCall).join('')
      const response = responseObject(head, {
        status,
        output,
        usage: responseUsage(end.usage, rule),
        ...(reason === undefined ? {} : { reason }),
      })
      return {
        events: begun + content + closed + calls + event(`response.${status}`, { response }),
        response,
      }
    },
  }
}

function messageItem(id: string, content: readonly JsonObject[], status: string): JsonObject {
  return { type: 'message', id, status, role: 'assistant', content: [...content] }
}

function reasoningItem(id: string, text: string, encrypted: string | null): JsonObject {
  return {
    type: 'reasoning',
    id,
    summary: text === '' ? [] : [summaryText(text)],
    encrypted_content: encrypted,
  }
}

function summaryText(text: string): JsonObject {
  return { type: 'summary_text', text }
}
