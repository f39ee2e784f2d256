import { expect, test } from 'vitest'
import { createItemsWriter } from './items-writer.ts'

function outputOf(events: readonly object[]): readonly Record<string, unknown>[] {
  const writer = createItemsWriter({ stream: false })
  const read = events.map((event) => writer.take(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))).join('')
  const { output } = JSON.parse(read + writer.end()) as { output: Record<string, unknown>[] }
  return output
}

const message = (text: string) => ({
  type: 'message',
  id: 'm1',
  role: 'assistant',
  content: text === '' ? [] : [{ type: 'output_text', text }],
})
const call = (id: string, written: string) => ({
  type: 'function_call',
  id,
  call_id: `call_${id}`,
  name: id,
  arguments: written,
})
const begun = (item: object) => ({ type: 'response.output_item.added', item })
const ended = (item: object) => ({ type: 'response.output_item.done', item })
const completed = (...output: readonly object[]) => ({ type: 'response.completed', response: { output } })
const words = (delta: string) => ({ type: 'response.output_text.delta', delta })
const written = (delta: string) => ({ type: 'response.function_call_arguments.delta', delta })

test.each([
  ['without its begin', [words('Hel'), words('lo'), completed(message('Hello'))]],
  [
    'with its begin and end',
    [begun(message('')), words('Hel'), words('lo'), ended(message('Hello')), completed(message('Hello'))],
  ],
])('pieces that name no item are those of the only open one, %s, and are read once', (_form, events) => {
  expect(outputOf(events)).toMatchObject([{ type: 'message', content: [{ text: 'Hello' }] }])
})

test('pieces that name no item go to none of several open calls, whose ends tell their arguments', () => {
  const events = [
    begun(call('a', '')),
    begun(call('b', '')),
    written('{"of":"a"}'),
    ended(call('a', '{"of":"a"}')),
    ended(call('b', '{"of":"b"}')),
    completed(),
  ]
  expect(outputOf(events)).toMatchObject([
    { name: 'a', arguments: '{"of":"a"}' },
    { name: 'b', arguments: '{"of":"b"}' },
  ])
})
