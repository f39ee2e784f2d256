import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { wires } from '../../../../../tests/support/model-wires.ts'
import { readMessagesParameters } from './messages-parameters.ts'
import { createMessagesStream } from './messages-stream.ts'
import { createSseParser, freshProgress } from './sse-parser.ts'

function read(body: object, betas: readonly string[] = []) {
  return readMessagesParameters(Buffer.from(JSON.stringify(body)), betas)
}
const messages = [{ role: 'user', content: 'hi' }]

describe('the parameters of a message', () => {
  test('the parameters of a message are those of the list and no others, whatever they are called', () => {
    heedsLesson(16)
    const allowed = ['system', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'stream', 'metadata']
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (extra) => {
        // A name that reaches a prototype is refused before anything is chosen.
        fc.pre(!/"(?:__proto__|constructor)"/.test(JSON.stringify(extra)))
        const rest = Object.fromEntries(Object.entries(extra).filter(([name]) => !known.has(name)))
        const { forwarded } = read({ ...rest, model: 'm', max_tokens: 5, messages })
        expect(Object.keys(forwarded).every((name) => [...allowed, 'messages'].includes(name))).toBe(true)
      }),
    )
    const { forwarded } = read({
      model: 'm',
      max_tokens: 5,
      messages,
      api_key: 'k',
      base_url: 'u',
      betas: [],
    })
    expect(forwarded).toEqual({ messages })
  })

  test('the parameters of a message need a bound and a believable form', () => {
    expect(() => read({ model: 'm', messages })).toThrow('max_tokens')
    expect(() => read({ model: 'm', max_tokens: 0, messages })).toThrow('max_tokens')
    expect(() => read({ model: 'm', max_tokens: 1, messages: 'hi' })).toThrow('messages')
    expect(() => readMessagesParameters(Buffer.from('{'), [])).toThrow('not valid JSON')
  })

  test.each(['web_search_20250305', 'web_fetch_20250910', 'code_execution_20250825', 'mcp_toolset'])(
    'a tool that runs at the provider is distinguished from the tools of the agent: %s',
    (type) => {
      const { prompt } = read({ model: 'm', max_tokens: 1, messages, tools: [{ type, name: 'x' }] })
      expect(prompt.serverTools).toEqual([{ index: 0, type }])
    },
  )

  test('the parameters of a message may have tools that run at the client', () => {
    for (const type of ['custom', 'bash_20250124', 'text_editor_20250728']) {
      expect(() => read({ model: 'm', max_tokens: 1, messages, tools: [{ type, name: 'x' }] })).not.toThrow()
    }
  })

  test('the parameters of a message think less where less is left, and not at all where nothing is', () => {
    const asked = read({
      model: 'm',
      max_tokens: 9000,
      messages,
      thinking: { type: 'enabled', budget_tokens: 8000 },
    })
    expect(asked.fit?.(asked.forwarded, 9000)).toBe(asked.forwarded)
    expect(asked.fit?.(asked.forwarded, 3000)).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 2999 },
    })
    expect(asked.fit?.(asked.forwarded, 500)).not.toHaveProperty('thinking')
  })
})

const known = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'tools',
  'tool_choice',
  'stop_sequences',
  'thinking',
  'metadata',
  'output_config',
  'output_format',
  'cache_control',
])

describe('the stream of a message', () => {
  test('the stream of a message passes as the same bytes with its usage taken from start and end, however it is cut', () => {
    const turn = {
      thought: { text: 'hm', signature: 's' },
      text: 'says "usage": 1 and event: message_stop — né',
    }
    const bytes = Buffer.concat(wires.anthropic.events(turn).map(wires.anthropic.frame))
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 30 }), (cuts) => {
        const progress = freshProgress()
        let done = 0
        const parser = createSseParser(
          progress,
          { wantsUsage: true, costUsdOf: () => 1, onDone: () => void done++ },
          createMessagesStream(),
        )
        const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])]
        const sorted = places.toSorted((a, b) => a - b)
        const out = sorted.slice(1).map((end, index) => parser.take(bytes.subarray(sorted[index], end)))
        const rest = parser.rest()
        expect(Buffer.concat([...out, rest].filter((piece) => piece !== null)).equals(bytes)).toBe(true)
        expect(done).toBe(1)
        expect(progress.usage).toMatchObject({ promptTokens: 12, cachedTokens: 4, completionTokens: 30 })
      }),
      { numRuns: 100 },
    )
  })
})
