import { named } from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

export const items = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'developers.openai.com, Responses API: streaming events',
  kind: 'responses',
  wire,
  normal,
})

export const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
}
export const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5.4' }
export const created = named({
  type: 'response.created',
  response: { ...head, status: 'in_progress', output: [] },
})
export const added = (output_index: number, item: object): string =>
  named({ type: 'response.output_item.added', output_index, item })
export const over = (output_index: number, item: object): string =>
  named({ type: 'response.output_item.done', output_index, item })
export const text = (delta: string, at: object = { item_id: 'msg_1', output_index: 0 }): string =>
  named({ type: 'response.output_text.delta', content_index: 0, ...at, delta })
export const written = (delta: unknown, at: object = { item_id: 'fc_1', output_index: 0 }): string =>
  named({ type: 'response.function_call_arguments.delta', ...at, delta })
export const message = (words: string | null = null, more: object = {}): object => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: words === null ? [] : [{ type: 'output_text', text: words, annotations: [] }],
  ...more,
})
export const call = (args: unknown = '', more: object = {}): object => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'look',
  arguments: args,
  ...more,
})
export const completed = (more: object = {}): string =>
  named({
    type: 'response.completed',
    response: { ...head, status: 'completed', output: [], usage, ...more },
  })
export const said = added(0, message()) + text('Hel') + text('lo') + over(0, message('Hello'))
export const called = added(0, call()) + written('{"at":') + written('"a"}') + over(0, call('{"at":"a"}'))
