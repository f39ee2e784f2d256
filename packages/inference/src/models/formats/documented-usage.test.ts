import { describe, expect, onTestFinished, test } from 'vitest'
import { httpCall } from '../../../../../tests/support/http-call.ts'
import { chunkEvent, usageEvent } from '../../../../../tests/support/llm-upstream.ts'
import type { UpstreamCall } from '../../../../../tests/support/llm-upstream.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import { wires } from '../../../../../tests/support/model-wires.ts'
import { reportedUsages } from '../../../../../tests/support/documented-usages.ts'
import type { DocumentedUsage } from '../../../../../tests/support/documented-usages.ts'
import { messagesUsageFrom } from './messages-usage.ts'
import { priceOf } from '../catalog/model-prices.ts'
import { providerPresets } from '../providers/provider-presets.ts'
import { usageFrom } from './usage.ts'

const turn = { text: 'Hello there' }

/** Returns the same value with this usage wherever it reports one. */
function telling(value: unknown, { member, usage }: DocumentedUsage): unknown {
  if (Array.isArray(value))
    return value.map((entry: unknown) => telling(entry, { member, usage } as DocumentedUsage))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === member && inner !== null ? usage : telling(inner, { member, usage } as DocumentedUsage),
    ]),
  )
}

function wholeOf(told: DocumentedUsage): object {
  if (told.wire !== 'openai') return telling(wires[told.wire].whole(turn), told) as object
  const message = { role: 'assistant', content: turn.text }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: told.usage,
  }
}

function streamOf(told: DocumentedUsage): readonly (string | Uint8Array)[] {
  if (told.wire === 'openai') {
    const said = chunkEvent({ role: 'assistant', content: turn.text })
    return [said, chunkEvent({}, 'stop'), usageEvent(told.usage), 'data: [DONE]\n\n']
  }
  const wire = wires[told.wire]
  const events = wire.events(turn).map((event) => wire.frame(telling(event, told) as object))
  return told.wire === 'mistral' ? [...events, 'data: [DONE]\n\n'] : events
}

async function startTelling(told: DocumentedUsage) {
  const gateway = await startLlmGateway(told.wire, told.model)
  onTestFinished(() => gateway.close())
  gateway.upstream.answerWith((call: UpstreamCall, response) => {
    const isStream = call.body['stream'] === true || /stream/i.test(call.path)
    response.writeHead(200, { 'content-type': isStream ? wires[told.wire].streamType : 'application/json' })
    if (!isStream) response.end(JSON.stringify(wholeOf(told)))
    else {
      for (const piece of streamOf(told)) response.write(piece)
      response.end()
    }
  })
  const ask = async (path: string, stream: boolean) => {
    const before = gateway.spentNano()
    const reply = await httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}${path}`,
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({
        model: told.model,
        max_tokens: 2000,
        messages: [{ role: 'user', content: 'hi' }],
        stream,
      }),
    })
    return { reply, spent: gateway.spentNano() - before }
  }
  return { gateway, ask }
}

/** Price at 3 and 15 dollars for a million tokens, with a quarter more for cache writes. */
function priceOfTold({ prompt, output, written = 0, usd = 0 }: DocumentedUsage): number {
  return Math.max(prompt * 3000 + written * 750 + output * 15_000, Math.round(usd * 1e9))
}

describe('what a provider tells of a call', () => {
  test.each(reportedUsages)(
    'the usage that a provider reports is paid in full by $model: $what',
    async (told) => {
      const { ask } = await startTelling(told)
      const paths = ['/v1/chat/completions', '/v1/messages']
      for (const path of paths) {
        for (const stream of [false, true]) {
          const { reply, spent } = await ask(path, stream)
          expect(reply.status, reply.text).toBe(200)
          expect(spent, `${path} ${stream ? 'streamed' : 'whole'}`).toBe(priceOfTold(told))
        }
      }
    },
  )

  test('the usage that a provider reports is here for every provider that is known by name, and for Anthropic below', () => {
    const told = new Set(reportedUsages.map(({ model }) => model.slice(0, model.indexOf('/'))))
    expect(Object.keys(providerPresets).filter((name) => !told.has(name))).toEqual(['anthropic'])
  })

  test('the usage that a provider reports counts at Anthropic what was thought, and what the cache held and took', () => {
    const usage = {
      input_tokens: 21,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 188_086,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
      output_tokens: 393,
      service_tier: 'standard',
      server_tool_use: { web_search_requests: 2 },
    }
    expect(messagesUsageFrom(usage)).toEqual({
      promptTokens: 188_207,
      completionTokens: 393,
      cachedTokens: 188_086,
      cacheWriteTokens: 100,
      cacheWriteLongTokens: 60,
      serverToolCalls: { web_search_requests: 2 },
    })
    const parts = { ...usage, cache_creation_input_tokens: null }
    expect(messagesUsageFrom(parts)?.cacheWriteTokens).toBe(100)
  })

  test('an empty usage counts as no usage, so the call is charged by its estimate', () => {
    expect(usageFrom({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })).toBeNull()
    expect(messagesUsageFrom({ input_tokens: 0, output_tokens: 0 })).toBeNull()
    expect(usageFrom({ prompt_tokens: 1, completion_tokens: -1 })).toBeNull()
  })

  test('the usage that a provider reports that has no output beside words has it counted, whole and streamed, on both surfaces', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 0, total_tokens: 100 }
    const { ask } = await startTelling({
      ...reportedUsages[0],
      wire: 'openai',
      member: 'usage',
      usage,
    } as DocumentedUsage)
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      for (const stream of [false, true])
        expect((await ask(path, stream)).spent, `${path} ${stream}`).toBeGreaterThan(100 * 3000)
    }
  })

  test('the usage that a provider reports and is missing from a translated stream is not taken for nothing', async () => {
    const told = { ...reportedUsages[2], usage: null } as unknown as DocumentedUsage
    const { ask } = await startTelling(told)
    expect((await ask('/v1/messages', true)).spent).toBeGreaterThan(0)
    expect((await ask('/v1/messages', false)).spent).toBeGreaterThan(0)
  })
})

describe('the price of what was told', () => {
  const now = Date.parse('2026-11-21T12:00:00Z')
  const claude = {
    id: 'anthropic/claude-sonnet-4-5',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    baseUrl: null,
    free: false,
    price: null,
  }

  test('the price of reported usage bears counts that contradict each other', () => {
    const price = priceOf(claude, now)
    const odd = { promptTokens: 10, completionTokens: 1, cachedTokens: 8, cacheWriteTokens: 8 }
    expect(price.costNano({ ...odd, cacheWriteLongTokens: 9 })).toBeGreaterThan(0)
    expect(price.costNano({ ...odd, cachedTokens: 50 })).toBeGreaterThan(0)
  })

  test("the price of reported usage has what a cache took dearer also by the owner's price, and is reserved so", () => {
    const price = priceOf({ ...claude, price: { input_per_mtok: 3, output_per_mtok: 15 } }, now)
    const all = { promptTokens: 1000, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 1000 }
    expect(price.costNano(all)).toBe(1000 * 3750)
    expect(price.costNano({ ...all, cacheWriteLongTokens: 1000 })).toBe(1000 * 6000)
    expect(price.inputNanoPerToken).toBe(6000)
  })

  test('the price of reported usage has the fee of a call in what is reserved for it', () => {
    const sonar = { ...claude, id: 'perplexity/sonar-pro', provider: 'perplexity', model: 'sonar-pro' }
    const price = priceOf(sonar, now)
    expect(price.callNano).toBe(14_000_000)
    const cost = price.costNano({ promptTokens: 10, completionTokens: 1, cachedTokens: 0 })
    expect(cost).toBe(14_000_000 + 10 * 3000 + 15_000)
  })
})
