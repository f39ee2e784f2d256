import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { messagesUsageFrom } from './messages-usage.ts'
import { charsIn, laterUsage, usageFrom, withCountedOutput } from './usage.ts'

/** The formats as schemas; the hand-written fast readers must agree with them. */
const number = z.number().int().min(0).max(1_000_000_000)
const digits = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)
const count = z.union([number, digits.pipe(number)])
const extra = count.nullish().catch(null)
const usd = z.number().min(0).max(1_000_000)
const extras = {
  cost: z
    .union([usd, z.looseObject({ total_cost: usd })])
    .nullish()
    .catch(null),
  cost_in_usd_ticks: z.number().min(0).max(1e16).nullish().catch(null),
  server_tool_use: z.record(z.string().max(64), z.unknown()).nullish().catch(null),
}
const chat = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  total_tokens: extra,
  reasoning_tokens: extra,
  cached_tokens: extra,
  prompt_cache_hit_tokens: extra,
  prompt_tokens_details: z
    .looseObject({ cached_tokens: extra, cache_write_tokens: extra })
    .nullish()
    .catch(null),
  completion_tokens_details: z.looseObject({ reasoning_tokens: extra }).nullish().catch(null),
  ...extras,
})
const messages = z.looseObject({
  input_tokens: count,
  output_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
  cache_creation: z
    .looseObject({ ephemeral_5m_input_tokens: extra, ephemeral_1h_input_tokens: extra })
    .nullish()
    .catch(null),
  ...extras,
})

const anyNumber = fc.oneof(
  fc.nat({ max: 5000 }),
  fc.constantFrom(0, -1, 1.5, 1e9, 1e9 + 1, 2 ** 53, 1e16, 1e300, -0, 1e6, 1_000_001),
)
const anything = fc.oneof(
  { weight: 6, arbitrary: anyNumber },
  { weight: 2, arbitrary: fc.constantFrom(null, '12', true, [], [3], {}, '') },
)
const nested = (...names: readonly string[]) =>
  fc.oneof(
    fc.record(Object.fromEntries(names.map((name) => [name, anything])), { requiredKeys: [] }),
    anything,
  )

const toldOf = {
  cost: fc.oneof(anything, nested('total_cost')),
  cost_in_usd_ticks: anything,
  server_tool_use: fc.oneof(
    anything,
    fc.dictionary(fc.constantFrom('web_search', 'a', 'n'.repeat(64), 'n'.repeat(65)), anything),
  ),
}

const chatUsage = fc.record(
  {
    prompt_tokens: fc.oneof(
      { weight: 8, arbitrary: fc.nat({ max: 5000 }) },
      { weight: 1, arbitrary: anything },
    ),
    completion_tokens: anything,
    total_tokens: anything,
    reasoning_tokens: anything,
    cached_tokens: anything,
    prompt_cache_hit_tokens: anything,
    prompt_tokens_details: nested('cached_tokens', 'cache_write_tokens'),
    completion_tokens_details: nested('reasoning_tokens'),
    ...toldOf,
  },
  { requiredKeys: [] },
)

const messagesUsage = fc.record(
  {
    input_tokens: fc.oneof(
      { weight: 8, arbitrary: fc.nat({ max: 5000 }) },
      { weight: 1, arbitrary: anything },
    ),
    output_tokens: anything,
    cache_read_input_tokens: anything,
    cache_creation_input_tokens: anything,
    cache_creation: nested('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'),
    ...toldOf,
  },
  { requiredKeys: [] },
)

function toldBy(parsed: z.infer<z.ZodObject<typeof extras>>) {
  const { cost, cost_in_usd_ticks: ticks, server_tool_use: calls } = parsed
  const ofCost = typeof cost === 'object' && cost !== null ? cost.total_cost : cost
  const statedUsd = typeof ticks === 'number' ? ticks / 1e10 : ofCost
  const counts = Object.entries(calls ?? {}).flatMap(([name, value]) => {
    const { success, data } = count.safeParse(value)
    return success ? [[name, data]] : []
  })
  return {
    ...(typeof statedUsd === 'number' && statedUsd > 0 ? { statedUsd } : {}),
    ...(counts.length > 0 ? { serverToolCalls: Object.fromEntries(counts) } : {}),
  }
}

function chatBySchema(value: unknown) {
  const { success, data: usage } = chat.safeParse(value)
  if (!success || usage.prompt_tokens + (usage.completion_tokens ?? 0) === 0) return null
  const { cached_tokens: cached, cache_write_tokens: written } = usage.prompt_tokens_details ?? {}
  const cachedTokens = cached ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? 0
  const spoken = usage.completion_tokens ?? 0
  const details = usage.completion_tokens_details?.reasoning_tokens ?? 0
  const thought = Math.max(details, usage.reasoning_tokens ?? 0)
  const beyond = (usage.total_tokens ?? 0) - usage.prompt_tokens
  return {
    promptTokens: Math.max(usage.prompt_tokens, cachedTokens + (written ?? 0)),
    completionTokens: Math.max(spoken, beyond, thought > spoken ? spoken + thought : 0),
    cachedTokens,
    ...(written ? { cacheWriteTokens: written } : {}),
    ...(thought > 0 ? { besideTokens: spoken + thought } : {}),
    ...toldBy(usage),
  }
}

function messagesBySchema(value: unknown) {
  const { success, data: usage } = messages.safeParse(value)
  if (!success) return null
  const cachedTokens = usage.cache_read_input_tokens ?? 0
  const long = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  const parts = (usage.cache_creation?.ephemeral_5m_input_tokens ?? 0) + long
  const cacheWriteTokens = Math.max(usage.cache_creation_input_tokens ?? 0, parts)
  const promptTokens = usage.input_tokens + cachedTokens + cacheWriteTokens
  const completionTokens = usage.output_tokens ?? 0
  if (promptTokens + completionTokens === 0) return null
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: long,
    ...toldBy(usage),
  }
}

describe('a usage is read', () => {
  test('the usage of a chat is read as its schema says, for any value', () => {
    fc.assert(
      fc.property(
        fc.oneof({ weight: 20, arbitrary: chatUsage }, { weight: 1, arbitrary: anything }),
        (usage) => {
          expect(usageFrom(usage)).toEqual(chatBySchema(usage))
        },
      ),
      { numRuns: 5000 },
    )
  })

  test('the usage of a message is read as its schema says, for any value', () => {
    fc.assert(
      fc.property(
        fc.oneof({ weight: 20, arbitrary: messagesUsage }, { weight: 1, arbitrary: anything }),
        (usage) => {
          expect(messagesUsageFrom(usage)).toEqual(messagesBySchema(usage))
        },
      ),
      { numRuns: 5000 },
    )
  })

  test('a usage is read without a name that reaches a prototype', () => {
    const usage: unknown = JSON.parse('{"prompt_tokens":1,"server_tool_use":{"__proto__":3,"a":2}}')
    expect(usageFrom(usage)?.serverToolCalls).toEqual({ a: 2 })
  })
})

describe('the usage of a stream', () => {
  test('the usage of a stream never shrinks: what an earlier event counted stays, whatever the last one tells', () => {
    const early = usageFrom({ prompt_tokens: 900, completion_tokens: 40 })
    const late = usageFrom({
      prompt_tokens: 12,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 5 },
    })
    if (early === null || late === null) throw new Error('both are believable')
    expect(laterUsage(early, late)).toMatchObject({
      promptTokens: 900,
      completionTokens: 40,
      cachedTokens: 5,
    })
    expect(laterUsage(late, early)).toMatchObject({ promptTokens: 900, completionTokens: 40 })
    expect(laterUsage(null, late)).toBe(late)
  })

  test.each([
    [{ input_tokens: 10, output_tokens: 5 }],
    [{ inputTokens: 10, outputTokens: 5 }],
    [{ promptTokens: 10, completionTokens: 5 }],
    [{ prompt_tokens: null, input_tokens: 10, completion_tokens: null, output_tokens: 5 }],
    [{ prompt_tokens: 10, input_tokens: 99, completion_tokens: 5, output_tokens: 99 }],
  ])('the usage of a stream is read under the names %j', (usage) => {
    expect(usageFrom(usage)).toMatchObject({ promptTokens: 10, completionTokens: 5 })
  })

  test('the usage of a stream of zero output tokens beside words is counted from the words', () => {
    const none = usageFrom({ prompt_tokens: 10, completion_tokens: 0 })
    if (none === null) throw new Error('the prompt is believable')
    expect(withCountedOutput(none, charsIn([{ message: { content: 'x'.repeat(28) } }]))).toMatchObject({
      promptTokens: 10,
      completionTokens: 10,
    })
    expect(withCountedOutput(none, 0)).toBe(none)
  })
})
