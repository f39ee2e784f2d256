import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerReader } from '../answer/answer-reader.ts'
import type { SaidNews } from '../answer/answer-reader.ts'
import type { Frame } from '../answer/event-lines.ts'
import type { Members } from '../claude/claude-message.ts'
import { thoughtIn } from '../packaged/packaged-writer.ts'

/** Whether a value is of an answer of chat completions and not of a response. Pure. */
export function isOfChat(value: Members): boolean {
  const { choices, output, type } = value
  return typeof choices === 'object' && choices !== null && output === undefined && type === undefined
}

/**
 * Reads an answer of chat completions, which some gateways write where a response was asked for, by the reader of chat
 * completions. Returns it as the events of a response without ids and places, which the mender of items adds. Throws
 * the Problems of the reader.
 */
export function createItemsFromChat(secrets: readonly Secret[]) {
  const reader = createAnswerReader({ secrets, takesBack: false })

  return {
    take: (frame: Frame): readonly Members[] => eventsOf(reader.take(frame)),
    end(): readonly Members[] {
      const last = reader.end()
      const calls = last.calls.map(({ id, name, arguments: text }) => ({
        type: 'response.output_item.done',
        item: { type: 'function_call', call_id: id, name, arguments: text },
      }))
      const reason =
        last.end === 'length' ? 'max_output_tokens' : last.end === 'content_filter' ? last.end : null
      const response = {
        ...reader.head(),
        usage: last.usage,
        ...(reason === null ? {} : { incomplete_details: { reason } }),
      }
      const type = reason === null ? 'response.completed' : 'response.incomplete'
      return [...eventsOf(last), ...calls, { type, response }]
    },
  }
}

function eventsOf(news: SaidNews): readonly Members[] {
  return [
    { type: 'response.reasoning_summary_text.delta', delta: thoughtIn(news) },
    { type: 'response.output_text.delta', delta: news.text },
  ].filter(({ delta }) => delta !== '')
}
