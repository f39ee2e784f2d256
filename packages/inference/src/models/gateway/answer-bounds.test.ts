import { describe, expect, test } from 'vitest'
import { aModelPath, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from '../../../../../tests/support/llm-upstream.ts'
import { createAnswerBounds } from './answer-bounds.ts'

describe('the bound of an answer', () => {
  test('the bound of an answer is the model’s own until ten answers were seen, and is learned for each agent and model', () => {
    const bounds = createAnswerBounds()
    for (let answer = 0; answer < 9; answer++) bounds.saw('a', 'm', 500)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(null)
    bounds.saw('a', 'm', 100)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(2000)
    expect(bounds.boundFor('b', 'm', 16_384)).toBe(null)
    expect(bounds.boundFor('a', 'n', 16_384)).toBe(null)
  })

  test('the bound of an answer has a floor, never passes the model’s own, and grows at once by an answer that reached it', () => {
    const bounds = createAnswerBounds()
    for (let answer = 0; answer < 10; answer++) bounds.saw('a', 'm', 5)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(1024)
    bounds.saw('a', 'm', 1024)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(4096)
    expect(bounds.boundFor('a', 'm', 4096)).toBe(null)
    for (let answer = 0; answer < 100; answer++) bounds.saw('a', 'm', 300)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(1200)
  })
})

describe('what is remembered of answers', () => {
  test('what is remembered of answers are the last hundred: the hundredth still counts, the one before it does not', () => {
    const bounds = createAnswerBounds()
    bounds.saw('a', 'm', 2000)
    for (let answer = 0; answer < 99; answer++) bounds.saw('a', 'm', 300)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(8000)
    bounds.saw('a', 'm', 300)
    expect(bounds.boundFor('a', 'm', 16_384)).toBe(1200)
  })

  test('answer sizes of two thousand agents and models are remembered; the least recently used is forgotten', () => {
    const bounds = createAnswerBounds()
    const sawTen = (agentId: string) => {
      for (let answer = 0; answer < 10; answer++) bounds.saw(agentId, 'm', 500)
    }
    for (let at = 0; at < 2000; at++) sawTen(`a${at}`)
    sawTen('a0')
    expect(bounds.boundFor('a1', 'm', 16_384)).toBe(2000)
    sawTen('another')
    expect(bounds.boundFor('a1', 'm', 16_384)).toBe(null)
    for (const known of ['a0', 'a2', 'another']) expect(bounds.boundFor(known, 'm', 16_384)).toBe(2000)
  })
})

describe('a call whose asker can ask again', () => {
  async function aPath() {
    const upstream = await startLlmUpstream()
    const parts = aModelPath({ baseUrl: upstream.baseUrl })
    const made = { tokens: 50 }
    upstream.answerWith((call, response) => {
      const bound = Number(call.body['max_tokens'])
      const tokens = Math.min(made.tokens, bound)
      const usage = { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ content: 'x' }, tokens === bound ? 'length' : 'stop'))
      response.end(`${usageEvent(usage)}data: [DONE]\n\n`)
    })
    const ask = async (asksAgain: boolean, more: object = {}) => {
      const messages = [{ role: 'user', content: 'hi' }]
      const stream = { stream: true, stream_options: { include_usage: true } }
      const body = Buffer.from(JSON.stringify({ model: 'openai/gpt-4o-mini', messages, ...stream, ...more }))
      const signal = new AbortController().signal
      const reply = await parts.complete(workerCaller, { body, signal, asksAgain })
      const { body: answered } = reply
      const pieces = answered instanceof Uint8Array ? [answered] : await Array.fromAsync(answered)
      const text = Buffer.concat(pieces).toString()
      const told = /"answer_bound":(\d+|null)/.exec(text)?.[1]
      return { sent: upstream.calls.at(-1)?.body['max_tokens'], told }
    }
    const close = async () => {
      await parts.close()
      await upstream.close()
    }
    return { ask, made, parts, upstream, close }
  }

  test('a call that can be repeated is limited to its learned size, reserves no more, and only its caller gets that limit', async () => {
    const { ask, parts, close } = await aPath()
    expect(await ask(true)).toEqual({ sent: 16_384, told: 'null' })
    for (let call = 0; call < 9; call++) await ask(true)
    expect(await ask(true)).toEqual({ sent: 1024, told: '1024' })
    parts.spending.flush()
    const last = parts.database
      .prepare('SELECT reserved_nano FROM spend ORDER BY rowid DESC LIMIT 1')
      .get()?.['reserved_nano']
    expect(last).toBeLessThan(1024 * 600 + 200 * 150)
    expect(await ask(false)).toEqual({ sent: 16_384, told: undefined })
    expect(await ask(true, { max_tokens: 9000 })).toEqual({ sent: 9000, told: 'null' })
    await close()
  })

  test('a call that was truncated at the learned size gets four times the room next time', async () => {
    const { ask, made, close } = await aPath()
    for (let call = 0; call < 10; call++) await ask(true)
    made.tokens = 3000
    expect(await ask(true)).toEqual({ sent: 1024, told: '1024' })
    expect(await ask(true)).toEqual({ sent: 4096, told: '4096' })
    await close()
  })

  test.each(['a stream', 'one piece'])(
    'a repeatable call gets its limit even if the provider reports no usage (%s)',
    async (form) => {
      const { ask, upstream, close } = await aPath()
      for (let call = 0; call < 10; call++) await ask(true)
      upstream.answerWith((_call, response) => {
        if (form === 'a stream') {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.end(`${chunkEvent({ content: 'x' }, 'length')}data: [DONE]\n\n`)
          return
        }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end('{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}')
      })
      expect(await ask(true)).toEqual({ sent: 1024, told: '1024' })
      expect(await ask(false)).toEqual({ sent: 16_384, told: undefined })
      await close()
    },
  )
})
