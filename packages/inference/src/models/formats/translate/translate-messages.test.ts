import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { wires } from '../../../../../../tests/support/model-wires.ts'
import { weatherCall } from '../../../../../../tests/support/wire-upstream.ts'
import { fitChat } from './fit-chat.ts'
import { createMessageWriter } from './message-from-chat.ts'
import { chatFromMessages } from './messages-to-chat.ts'
import { blockFromReasoning, ownBlock, reasoningFromBlock } from './reasoning-details.ts'

const mark = { type: 'ephemeral' }

describe('a request of messages as a chat', () => {
  test('a request of messages as a chat keeps system, pictures, documents, tools and their results, thinking and marks', () => {
    const chat = chatFromMessages({
      model: 'm',
      max_tokens: 100,
      temperature: 0.2,
      top_k: 5,
      stop_sequences: ['END'],
      stream: true,
      system: [{ type: 'text', text: 'Be brief.', cache_control: mark }],
      thinking: { type: 'enabled', budget_tokens: 4000 },
      metadata: { user_id: 'u1' },
      tools: [{ name: 'look', description: 'Looks', input_schema: { type: 'object' }, cache_control: mark }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'and?' },
            {
              type: 'tool_result',
              tool_use_id: 't1',
              is_error: true,
              content: [
                { type: 'text', text: 'dark' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
              ],
            },
          ],
        },
      ],
    })
    expect(chat).toEqual({
      model: 'm',
      max_tokens: 100,
      temperature: 0.2,
      top_k: 5,
      stop: ['END'],
      stream: true,
      stream_options: { include_usage: true },
      user: 'u1',
      reasoning: { max_tokens: 4000 },
      reasoning_effort: 'medium',
      parallel_tool_calls: false,
      tool_choice: 'required',
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: 'Looks', parameters: { type: 'object' } },
          cache_control: mark,
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: { type: 'object' } },
      },
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: mark }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image_url', image_url: { url: 'https://x/y.png' } },
            {
              type: 'file',
              file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBE' },
            },
          ],
        },
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_details: [
            { type: 'reasoning.text', text: 'hm', signature: 'c2ln', format: 'anthropic-claude-v1' },
          ],
          tool_calls: [{ id: 't1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
        },
        {
          role: 'tool',
          tool_call_id: 't1',
          is_error: true,
          content: [
            { type: 'text', text: 'dark' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          ],
        },
        { role: 'user', content: 'and?' },
      ],
    })
  })

  test('a request of messages as a chat is taken down to what a plain server takes, and nothing that was said is lost', () => {
    const chat = chatFromMessages({
      model: 'llama',
      max_tokens: 9,
      top_k: 5,
      thinking: { type: 'enabled', budget_tokens: 4000 },
      system: [{ type: 'text', text: 'Be brief.', cache_control: mark }],
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: '' },
            { type: 'tool_use', id: 't1', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't1',
              is_error: true,
              content: [
                { type: 'text', text: 'dark' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
              ],
            },
          ],
        },
      ],
    })
    expect(fitChat(chat, { boundField: 'max_completion_tokens' })).toEqual({
      model: 'llama',
      max_completion_tokens: 9,
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 't1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 't1', content: 'Error: dark' },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }],
        },
      ],
    })
    const rich = fitChat(chat, {
      boundField: 'max_tokens',
      cacheControl: true,
      thinking: 'reasoning_content',
      reasoning: true,
      topK: true,
    })
    expect(rich).toMatchObject({ max_tokens: 9, top_k: 5, reasoning: { max_tokens: 4000 } })
    expect(JSON.stringify(rich)).toContain('"reasoning_content":"hm"')
    expect(JSON.stringify(rich)).toContain('"cache_control"')
    expect(fitChat({ ...chat, model: 'gpt-5' }, { boundField: 'max_tokens' })).toMatchObject({
      reasoning_effort: 'medium',
    })
  })

  test.each([
    [{ type: 'search_result', source: 'x' }, 'search_result'],
    [{ type: 'image', source: { type: 'file', file_id: 'f' } }, 'file'],
  ])('a request of messages as a chat is refused where no chat can carry it: %j', (block, named) => {
    const body = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: [block] }] }
    expect(() => chatFromMessages(body as never)).toThrow(named)
  })
})

const turns = {
  text: { text: 'Hello there, né' },
  call: { text: 'I look.', call: weatherCall },
  thought: { thought: { text: 'hm', signature: 's' }, text: 'Four' },
}

function aWriter(stream: boolean) {
  let made = 0
  return createMessageWriter({ stream, model: 'm', newId: () => `toolu_${made++}` })
}

function messageOf(answer: object): Record<string, unknown> {
  const writer = aWriter(false)
  writer.take(Buffer.from(JSON.stringify(answer)))
  return JSON.parse(writer.end()) as Record<string, unknown>
}

async function translated(bytes: Buffer, cuts: readonly number[]): Promise<Record<string, unknown>[]> {
  async function* pieces() {
    const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])]
    const sorted = places.toSorted((a, b) => a - b)
    for (const [index, end] of sorted.slice(1).entries()) yield bytes.subarray(sorted[index], end)
  }
  const writer = aWriter(true)
  let text = ''
  for await (const piece of pieces()) text += writer.take(piece)
  text += writer.end()
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Record<string, unknown>)
}

function streamOf(turn: (typeof turns)[keyof typeof turns]): Buffer {
  return Buffer.concat([
    ...wires.openai.events(turn).map(wires.openai.frame),
    Buffer.from('data: [DONE]\n\n'),
  ])
}

describe('a streamed chat as the events of a message', () => {
  test('a streamed chat as the events of a message is the same however the bytes are cut', async () => {
    for (const turn of Object.values(turns)) {
      const bytes = streamOf(turn)
      const whole = await translated(bytes, [])
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(), { maxLength: 40 }), async (cuts) => {
          expect(await translated(bytes, cuts)).toEqual(whole)
        }),
        { numRuns: 60 },
      )
      const crlf = Buffer.from(bytes.toString().replaceAll('\n', '\r\n'))
      expect(await translated(crlf, [])).toEqual(whole)
    }
  })

  test('a streamed chat as the events of a message opens, fills and closes each block once, in the order of the wire', async () => {
    const events = await translated(streamOf(turns.call), [])
    expect(events.map((event) => event['type'])).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 30 },
    })
  })

  test('a streamed chat as the events of a message keeps calls apart that are written side by side', async () => {
    const chunk = (index: number, more: object) =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index, ...more }] } }] })}\n\n`
    const wire = [
      chunk(0, { id: 'a', function: { name: 'one', arguments: '{"x"' } }),
      chunk(1, { id: 'b', function: { name: 'two', arguments: '{}' } }),
      chunk(0, { function: { arguments: ':1}' } }),
      'data: [DONE]\n\n',
    ].join('')
    const events = await translated(Buffer.from(wire), [])
    const inputs = events.flatMap(
      ({ delta }) => (delta as { partial_json?: string } | undefined)?.partial_json ?? [],
    )
    expect(inputs).toEqual(['{"x":1}', '{}'])
    expect(events.filter(({ type }) => type === 'content_block_start')).toHaveLength(2)
  })

  test('a streamed chat as the events of a message ends in an error where the model says one, or says no end', () => {
    const failing = aWriter(true)
    expect(() =>
      failing.take(Buffer.from('data: {"error":{"message":"no room, Bearer sk-abcdefghijkl"}}\n\n')),
    ).toThrow('no room, [secret]')
    const cut = aWriter(true)
    cut.take(Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content: 'Hel' } }] })}\n\n`))
    expect(() => cut.end()).toThrow('ended its answer early')
  })
})

describe('a whole chat as a message', () => {
  test('a whole chat as a message has an object for the input of every call, whatever the model wrote', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const answer = {
          choices: [
            {
              message: { tool_calls: [{ id: 'a', function: { name: 'n', arguments: text } }] },
              finish_reason: 'stop',
            },
          ],
        }
        const [block] = messageOf(answer)['content'] as { input: unknown }[]
        const { input } = block ?? {}
        expect(typeof input === 'object' && input !== null && !Array.isArray(input)).toBe(true)
      }),
    )
  })

  test('a whole chat as a message says a refusal as one', () => {
    const answer = { choices: [{ message: { refusal: 'I may not.' }, finish_reason: 'stop' }] }
    expect(messageOf(answer)).toMatchObject({
      content: [{ type: 'text', text: 'I may not.' }],
      stop_reason: 'refusal',
    })
    expect(() => messageOf({ choices: [] })).toThrow(expect.objectContaining({ code: 'provider-unreadable' }))
  })
})

describe('thinking between turns', () => {
  test('thinking between turns is returned unchanged, also if another provider signed it', () => {
    const format = fc.constantFrom('anthropic-claude-v1', 'google-gemini-v1', 'bedrock-v1')
    const sealed = fc.base64String({ minLength: 4 })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.record({
            type: fc.constant('reasoning.text' as const),
            text: fc.string(),
            signature: sealed,
            format,
          }),
          fc.record({ type: fc.constant('reasoning.encrypted' as const), data: sealed, format }),
        ),
        (detail) => {
          const block = blockFromReasoning(detail)
          expect(reasoningFromBlock(block as never)).toEqual(detail)
          expect(ownBlock(block, 'anthropic')).toBe(detail.format === 'anthropic-claude-v1' ? block : null)
        },
      ),
    )
    const ofCall = {
      type: 'reasoning.encrypted' as const,
      data: 'c2ln',
      id: 'call_1',
      format: 'google-gemini-v1',
    }
    expect(reasoningFromBlock(blockFromReasoning(ofCall) as never)).toEqual(ofCall)
  })
})
