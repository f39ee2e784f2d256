import { expect, test } from 'vitest'
import { createAnswerAssembly } from './assemble-answer.ts'

function assemble(chunks: readonly unknown[]) {
  const assembly = createAnswerAssembly()
  for (const chunk of chunks) assembly.take(chunk)
  return assembly
}
const call = (piece: unknown) => ({ choices: [{ delta: { tool_calls: [piece] } }] })

test('calls come whole, in their order, with the ids of the mesh', () => {
  const { toolCalls } = assemble([
    call({ index: 0, id: 'a', function: { name: 'one', arguments: '{"y":1}' } }),
    call({ index: 1, id: 'b', function: { name: 'two', arguments: '{"x":2}' } }),
  ]).answer()
  expect(toolCalls).toEqual([
    { id: 'a', name: 'one', arguments: '{"y":1}' },
    { id: 'b', name: 'two', arguments: '{"x":2}' },
  ])
})

test('pieces of one thought are one, and what was sealed stays apart', () => {
  const think = (detail: object) => ({ choices: [{ delta: { reasoning_details: [detail] } }] })
  const at = { type: 'reasoning.text', format: 'plain', field: 'reasoning_content', from: 'lab' }
  const seal = { type: 'reasoning.encrypted', data: 's', format: 'google-gemini-v1' }
  const { thoughts } = assemble([
    think({ ...at, text: 'h' }),
    think({ ...at, text: 'm' }),
    think(seal),
    think({ ...at, text: 'so' }),
  ]).answer()
  expect(thoughts).toEqual([{ ...at, text: 'hm' }, seal, { ...at, text: 'so' }])
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

test.each([
  null,
  7,
  'text',
  [],
  { choices: 'x' },
  { choices: [{ delta: { tool_calls: [null, 5] } }] },
  { choices: [{ delta: { tool_calls: [{ id: 'a', function: { name: 'one', arguments: { y: 1 } } }] } }] },
  { choices: [{ delta: { tool_calls: [{ id: '', function: { name: 'one', arguments: '{}' } }] } }] },
  { choices: [{ delta: { content: ['hi'] } }] },
  { choices: [{ delta: {}, finish_reason: 'eos' }] },
])('what is not of the normal form is no answer, and never an empty one: %j', (chunk) => {
  expect(() => assemble([chunk])).toThrow(expect.objectContaining({ code: 'model-failed' }))
})
