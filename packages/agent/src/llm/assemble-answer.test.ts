import { expect, test } from 'vitest'
import { createAnswerAssembly } from './assemble-answer.ts'

function assemble(chunks: readonly unknown[]) {
  const assembly = createAnswerAssembly()
  for (const chunk of chunks) assembly.take(chunk)
  return assembly
}
const call = (piece: unknown) => ({ choices: [{ delta: { tool_calls: [piece] } }] })

test('arguments come in pieces by index, calls mixed', () => {
  const { toolCalls } = assemble([
    call({ index: 0, id: 'a', function: { name: 'one', arguments: '' } }),
    call({ index: 1, id: 'b', function: { name: 'two', arguments: '{"x"' } }),
    call({ index: 0, function: { arguments: '{"y":1}' } }),
    call({ index: 1, function: { arguments: ':2}' } }),
  ]).answer()
  expect(toolCalls).toEqual([
    { id: 'a', name: 'one', arguments: '{"y":1}' },
    { id: 'b', name: 'two', arguments: '{"x":2}' },
  ])
})

test('calls without an index are told apart by id', () => {
  const { toolCalls } = assemble([
    call({ id: 'a', function: { name: 'one', arguments: '{}' } }),
    call({ id: 'b', function: { name: 'two', arguments: '{}' } }),
  ]).answer()
  expect(toolCalls.map((made) => made.name)).toEqual(['one', 'two'])
})

test('a call without an id gets one', () => {
  const { toolCalls } = assemble([call({ index: 0, function: { name: 'one', arguments: '{}' } })]).answer()
  expect(toolCalls[0]?.id).toBe('call_0')
})

test('an answer that was not streamed is read from its message', () => {
  const assembly = assemble([
    {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
      cost_usd: 0.5,
    },
  ])
  expect(assembly.isWhole()).toBe(true)
  expect(assembly.answer()).toMatchObject({ text: 'hi', tokens: 7, costUsd: 0.5, cutOff: false })
})

test('without a finish reason the answer is not whole', () => {
  expect(assemble([{ choices: [{ delta: { content: 'a' } }] }]).isWhole()).toBe(false)
})

test('the length limit is noticed', () => {
  expect(assemble([{ choices: [{ delta: {}, finish_reason: 'length' }] }]).answer().cutOff).toBe(true)
})

test.each([null, 7, 'text', [], { choices: 'x' }, { choices: [{ delta: { tool_calls: [null, 5] } }] }])(
  'a chunk that is %j changes nothing',
  (chunk) => {
    expect(assemble([chunk]).answer()).toMatchObject({ text: '', toolCalls: [] })
  },
)
