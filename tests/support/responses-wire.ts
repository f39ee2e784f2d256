import { namedEvent, wireUsage } from './wire-turn.ts'
import type { Turn, Wire } from './wire-turn.ts'

const usage = {
  input_tokens: wireUsage.prompt,
  input_tokens_details: { cached_tokens: wireUsage.cached },
  output_tokens: wireUsage.answer,
  output_tokens_details: { reasoning_tokens: wireUsage.thought },
  total_tokens: wireUsage.prompt + wireUsage.answer,
}

const outputText = { type: 'output_text', annotations: [], logprobs: [] }

type Item = Readonly<Record<string, unknown>>

function itemsOf({ thought, text, call }: Turn): readonly Item[] {
  return [
    ...(thought
      ? [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: thought.text }],
            encrypted_content: thought.signature,
          },
        ]
      : []),
    ...(text === undefined
      ? []
      : [
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ ...outputText, text }],
          },
        ]),
    ...(call
      ? [
          {
            type: 'function_call',
            id: 'fc_1',
            call_id: call.id,
            name: call.name,
            arguments: JSON.stringify(call.input),
            status: 'completed',
          },
        ]
      : []),
  ]
}

function response(turn: Turn, status: string): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_769_088_854,
    model: 'gpt-5-mini',
    status,
    error: null,
    incomplete_details: null,
    output: status === 'completed' ? itemsOf(turn) : [],
    usage: status === 'completed' ? usage : null,
  }
}

function eventsOf(item: Item, output_index: number): readonly object[] {
  const at = { item_id: item['id'], output_index }
  const text = (item['content'] as { text: string }[] | undefined)?.[0]?.text
  const summary = (item['summary'] as { text: string }[] | undefined)?.[0]?.text
  const written = item['arguments'] as string | undefined
  const empty =
    text !== undefined ? { content: [] } : summary !== undefined ? { summary: [] } : { arguments: '' }
  return [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...item, ...empty, status: 'in_progress' },
    },
    ...(text === undefined
      ? []
      : [
          { type: 'response.content_part.added', ...at, content_index: 0, part: { ...outputText, text: '' } },
        ]),
    ...(text?.match(/\s*\S+/g) ?? []).map((delta) => ({
      type: 'response.output_text.delta',
      ...at,
      content_index: 0,
      delta,
      logprobs: [],
    })),
    ...(text === undefined ? [] : [{ type: 'response.output_text.done', ...at, content_index: 0, text }]),
    ...(summary === undefined
      ? []
      : [
          {
            type: 'response.reasoning_summary_part.added',
            ...at,
            summary_index: 0,
            part: { type: 'summary_text', text: '' },
          },
          { type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta: summary },
          { type: 'response.reasoning_summary_text.done', ...at, summary_index: 0, text: summary },
        ]),
    ...(written === undefined
      ? []
      : [written.slice(0, 5), written.slice(5)].map((delta) => ({
          type: 'response.function_call_arguments.delta',
          ...at,
          delta,
        }))),
    ...(written === undefined
      ? []
      : [{ type: 'response.function_call_arguments.done', ...at, arguments: written }]),
    { type: 'response.output_item.done', output_index, item },
  ]
}

/** OpenAI's Responses API. */
export const responses: Wire = {
  whole: (turn) => response(turn, 'completed'),
  events: (turn) => [
    { type: 'response.created', response: response(turn, 'in_progress') },
    { type: 'response.in_progress', response: response(turn, 'in_progress') },
    ...itemsOf(turn).flatMap(eventsOf),
    { type: 'response.completed', response: response(turn, 'completed') },
  ],
  frame: namedEvent,
  failure: (message) =>
    namedEvent({ type: 'error', sequence_number: 5, code: 'server_error', message, param: null }),
  streamType: 'text/event-stream; charset=utf-8',
  refusal: (_status, message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: null },
  }),
}
