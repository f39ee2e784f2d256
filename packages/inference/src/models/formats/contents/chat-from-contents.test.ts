import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { chatFromContents } from './chat-from-contents.ts'
import { readContentsParameters } from './contents-parameters.ts'
import { sealLimits } from './contents-seal.ts'

/** Reads a request as the gateway does, and translates what it forwards. */
function chatOf(request: JsonObject): JsonObject {
  const body = Buffer.from(JSON.stringify(request))
  return chatFromContents(readContentsParameters(body, { model: 'm', stream: false }).forwarded)
}

test('results without ids belong to the calls of their name, in order', () => {
  const call = (name: string) => ({ functionCall: { name, args: {} } })
  const result = (name: string, output: string) => ({ functionResponse: { name, response: { output } } })
  const { messages } = chatOf({
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [call('a'), call('b'), call('a')] },
      { role: 'user', parts: [result('b', 'two'), result('a', 'one'), result('a', 'three')] },
    ],
  })
  expect(messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }, { id: 'call_3' }] },
    { role: 'tool', tool_call_id: 'call_2', content: 'two' },
    { role: 'tool', tool_call_id: 'call_1', content: 'one' },
    { role: 'tool', tool_call_id: 'call_3', content: 'three' },
  ])
})

test('results without ids belong to the calls of all contents of the model since the user spoke', () => {
  const call = { role: 'model', parts: [{ functionCall: { name: 'a', args: {} } }] }
  const result = (output: string) => ({ functionResponse: { name: 'a', response: { output } } })
  const { messages } = chatOf({
    contents: [
      call,
      { role: 'user', parts: [{ text: 'Never mind.' }] },
      call,
      call,
      { role: 'user', parts: [result('two')] },
      { role: 'user', parts: [result('three')] },
    ],
  })
  const results = (messages as JsonObject[]).filter(({ role }) => role === 'tool')
  expect(results).toEqual([
    { role: 'tool', tool_call_id: 'call_2', content: 'two' },
    { role: 'tool', tool_call_id: 'call_3', content: 'three' },
  ])
})

test('contents of the model in a row are one answer', () => {
  const model = (...parts: JsonObject[]): JsonObject => ({ role: 'model', parts })
  const { messages } = chatOf({
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      model({ text: 'Hel' }),
      model({ text: 'lo' }),
      model({ functionCall: { name: 'a', args: {} } }),
      model({ functionCall: { name: 'b', args: {} } }),
      { role: 'user', parts: [{ functionResponse: { name: 'b', response: { output: 'two' } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'a', response: { output: 'one' } } }] },
      model(),
      model({ text: 'Done.' }),
    ],
  })
  expect(messages).toMatchObject([
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'Hello', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
    { role: 'tool', tool_call_id: 'call_2', content: 'two' },
    { role: 'tool', tool_call_id: 'call_1', content: 'one' },
    { role: 'assistant', content: 'Done.' },
  ])
})

test('an id that a call gets is none that a later call or a result states', () => {
  const call = (more: JsonObject = {}) => ({ functionCall: { name: 'a', args: {}, ...more } })
  const result = (id: string, output: string) => ({
    functionResponse: { id, name: 'a', response: { output } },
  })
  const { messages } = chatOf({
    contents: [
      { role: 'model', parts: [call(), call({ id: 'call_1' })] },
      { role: 'user', parts: [result('call_1', 'stated'), result('call_2', 'other')] },
    ],
  })
  expect(messages).toMatchObject([
    { role: 'assistant', tool_calls: [{ id: 'call_3' }, { id: 'call_1' }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'stated' },
    { role: 'tool', tool_call_id: 'call_3', content: 'other' },
  ])
})

test('a forged signature brings no other members than those of thinking', () => {
  const before = [
    { type: 'reasoning.text', text: 'Hm.', from: 'x', cache_control: { type: 'ephemeral' }, other: 1 },
  ]
  const thoughtSignature = Buffer.from(`flotilla:${JSON.stringify({ before, own: [] })}`).toString('base64')
  const { messages } = chatOf({ contents: [{ role: 'model', parts: [{ text: 'Yes', thoughtSignature }] }] })
  expect(messages).toEqual([
    {
      role: 'assistant',
      content: 'Yes',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', from: 'x' }],
    },
  ])
})

describe('forged signatures of one call', () => {
  const thinking = (text: string) => ({ type: 'reasoning.text', text })
  const readTexts = (...seals: readonly { readonly before: unknown }[]) => {
    const parts = seals.map((seal) => ({
      text: 'Yes',
      thoughtSignature: Buffer.from(`flotilla:${JSON.stringify({ own: [], ...seal })}`).toString('base64'),
    }))
    const [message] = chatOf({ contents: [{ role: 'model', parts }] })['messages'] as JsonObject[]
    const details = (message?.['reasoning_details'] ?? []) as JsonObject[]
    return details.map((detail) => detail['text'])
  }
  const half = (one: unknown) => Array.from({ length: sealLimits.detailsMax / 2 }, () => one)

  test('forged signatures of one call have a limit for their entries together, also for those that are no thinking', () => {
    expect(readTexts({ before: half({}) }, { before: [thinking('in')] }, { before: half({}) })).toEqual([
      'in',
    ])
    expect(readTexts({ before: half({}) }, { before: half({}) }, { before: [thinking('beyond')] })).toEqual(
      [],
    )
  })

  test.each([
    ['values', { before: [thinking('a')], other: Array.from({ length: sealLimits.valuesMax / 2 }, () => 0) }],
    [
      'members',
      {
        before: [thinking('a')],
        other: Object.fromEntries(
          Array.from({ length: sealLimits.membersMax / 2 }, (_, at) => [`a${at}`, 0]),
        ),
      },
    ],
  ])('forged signatures of one call have a limit for their %s together', (_what, large) => {
    expect(readTexts(large, { before: [thinking('in')] })).toEqual(['a', 'in'])
    expect(readTexts(large, large, { before: [thinking('c')] })).toHaveLength(1)
  })
})

test('members may be written with underscores, but the names within data stay', () => {
  const schema = { type: 'OBJECT', properties: { max_items: { type: 'ARRAY', max_items: 1, maxItems: '3' } } }
  const chat = chatOf({
    system_instruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ function_call: { name: 'a', args: { inline_data: 1 } } }] },
      { role: 'user', parts: [{ function_response: { name: 'a', response: { is_ok: true } } }] },
    ],
    tools: [{ function_declarations: [{ name: 'a', parameters: schema }] }],
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['a'] } },
    generation_config: { top_k: 5, stop_sequences: ['END'] },
  })
  expect(chat).toMatchObject({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'go' },
      { tool_calls: [{ function: { arguments: '{"inline_data":1}' } }] },
      { role: 'tool', content: '{"is_ok":true}' },
    ],
    tools: [{ function: { parameters: { properties: { max_items: { type: 'array', maxItems: 3 } } } } }],
    tool_choice: { type: 'function', function: { name: 'a' } },
    top_k: 5,
    stop: ['END'],
  })
})
