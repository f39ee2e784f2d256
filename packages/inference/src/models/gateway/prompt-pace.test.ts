import { describe, expect, test } from 'vitest'
import { anthropicPrices } from '../../../../../tests/support/prompt-prices.ts'
import { withPromptCache } from '../formats/prompt-cache.ts'
import type { CacheTime } from '../formats/prompt-cache.ts'
import { prefixOf } from '../formats/prompt-prefix.ts'
import { createPromptPace } from './prompt-pace.ts'
import type { PacedCall } from './prompt-pace.ts'

const minuteMs = 60_000
const prefix = prefixOf('m', { messages: [] }, { withOptions: true })
const call = (more: Partial<PacedCall> = {}): PacedCall => ({
  agentId: 'scout',
  conversation: 'scout chat default',
  runId: 'run_1',
  prefix,
  willWait: false,
  ...more,
})

/** Returns the cache lifetime of each call; each entry gives the minute and the run of one call. */
function keptAt(calls: readonly (readonly [minute: number, runId: string])[]): readonly CacheTime[] {
  const pace = createPromptPace()
  return calls.map(([minute, runId]) => pace.sees(call({ runId }), minute * minuteMs).keep)
}

describe('how long a provider keeps a prompt', () => {
  test('the rounds of a run and turns that follow quickly keep five minutes', () => {
    expect(
      keptAt([
        [0, 'a'],
        [1, 'a'],
        [2, 'b'],
        [6, 'b'],
      ]),
    ).toEqual(['5m', '5m', '5m', '5m'])
  })

  test('after a pause of more than five minutes a conversation keeps an hour, in all rounds of that run', () => {
    expect(
      keptAt([
        [0, 'a'],
        [15, 'b'],
        [15.1, 'b'],
        [30, 'c'],
      ]),
    ).toEqual(['5m', '1h', '1h', '1h'])
  })

  test('a conversation that goes on quickly, or after more than an hour, keeps five minutes again', () => {
    expect(
      keptAt([
        [0, 'a'],
        [15, 'b'],
        [16, 'c'],
        [90, 'd'],
      ]),
    ).toEqual(['5m', '1h', '5m', '5m'])
  })

  test('a run that will wait for others keeps an hour at once', () => {
    expect(createPromptPace().sees(call({ willWait: true }), 0).keep).toBe('1h')
  })

  test('conversations are apart, and only the newest thousand are remembered', () => {
    const pace = createPromptPace()
    pace.sees(call(), 0)
    const other = prefixOf('n', { messages: [] }, { withOptions: true })
    expect(pace.sees(call({ conversation: 'clerk chat default', prefix: other }), 0).broken).toBeNull()
    expect(pace.sees(call({ prefix: other }), 1).broken).toBe('model')
    for (let count = 0; count < 1000; count += 1) {
      pace.sees(call({ agentId: `clerk-${count}`, conversation: `clerk-${count} chat` }), 2)
    }
    expect(pace.sees(call(), 3).broken).toBeNull()
  })

  test('an agent with many conversations makes only its own forgotten', () => {
    const pace = createPromptPace()
    const other = prefixOf('n', { messages: [] }, { withOptions: true })
    const first = { agentId: 'clerk', conversation: 'clerk chat 0' }
    pace.sees(call(), 0)
    for (let count = 0; count < 1001; count += 1) {
      pace.sees(call({ agentId: 'clerk', conversation: `clerk chat ${count}` }), 1)
    }
    expect(pace.sees(call({ prefix: other }), 2).broken).toBe('model')
    expect(pace.sees(call({ ...first, prefix: other }), 2).broken).toBeNull()
  })

  test('instructions beyond the bound are not compared', () => {
    const pace = createPromptPace()
    const of = (last: string) =>
      prefixOf(
        'm',
        {
          messages: Array.from({ length: 101 }, (_, at) => ({
            role: 'system',
            content: at < 100 ? '.' : last,
          })),
        },
        { withOptions: true },
      )
    pace.sees(call({ prefix: of('one') }), 0)
    expect(pace.sees(call({ prefix: of('other') }), 1).broken).toBeNull()
  })

  /** Bills turns of three rounds with this pause between them. */
  function billOf(pauseMinutes: number, keepOf: (wanted: CacheTime) => CacheTime): number {
    let now = 0
    const pace = createPromptPace()
    const prices = anthropicPrices(() => now)
    const messages: { role: string; content: string }[] = [{ role: 'system', content: 's'.repeat(12_000) }]
    const marks = {
      by: 'marks',
      mark: 'cache_control',
      takesKey: false,
      onTools: true,
      forAnHour: true,
      minTokens: 1024,
    } as const
    let cost = 0
    for (let turn = 0; turn < 8; turn += 1) {
      for (let round = 0; round < 3; round += 1) {
        messages.push({ role: 'user', content: `${turn} ${round} `.repeat(300) })
        const body = { messages }
        const seen = { runId: `run_${turn}`, prefix: prefixOf('m', body, { withOptions: true }) }
        const keep = keepOf(pace.sees(call(seen), now).keep)
        const { messages: sent = [] } = withPromptCache(body, marks, { agentId: 'scout', keep })
        const [system, ...others] = sent as { content: unknown }[]
        cost += prices.bill({ system: system?.content, messages: others }).cost
        messages.push({ role: 'assistant', content: 'Yes.' })
        now += 5000
      }
      now += pauseMinutes * minuteMs
    }
    return cost
  }

  test('a conversation with pauses of 20 minutes costs less than half of what five minutes cost', () => {
    expect(billOf(20, (wanted) => wanted)).toBeLessThan(0.5 * billOf(20, () => '5m'))
  })

  test('a conversation without pauses costs what five minutes cost, and one with pauses of hours hardly more', () => {
    expect(billOf(1, (wanted) => wanted)).toBe(billOf(1, () => '5m'))
    expect(billOf(120, (wanted) => wanted)).toBe(billOf(120, () => '5m'))
  })
})
