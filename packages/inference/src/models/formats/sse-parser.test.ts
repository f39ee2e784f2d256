import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chunkEvent, usageEvent } from '../../../../../tests/support/llm-upstream.ts'
import { createSseParser, freshProgress } from './sse-parser.ts'

const text = [
  ': a comment\n\n',
  chunkEvent({ role: 'assistant', content: '' }),
  chunkEvent({ content: 'says "usage": {"a":1} — né' }),
  chunkEvent({ content: 'x' }).replaceAll('\n', '\r\n'),
  usageEvent({ prompt_tokens: 7, completion_tokens: 3 }),
  'data: [DONE]\n\n',
]

function passed(chunks: Iterable<Uint8Array>, wantsUsage: boolean) {
  const progress = freshProgress()
  let doneAfter: number | null = null
  const parser = createSseParser(progress, {
    wantsUsage,
    costUsdOf: () => 0.5,
    onDone: () => {
      doneAfter = progress.usage?.promptTokens ?? -1
    },
  })
  const pieces = [...[...chunks].map((chunk) => parser.take(chunk)), parser.rest()]
  return { out: Buffer.concat(pieces.filter((piece) => piece !== null)).toString(), progress, doneAfter }
}

function cutAt(bytes: Buffer, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set([0, ...places.map((place) => place % bytes.length), bytes.length])].toSorted(
    (a, b) => a - b,
  )
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end))
}

describe('a passed stream', () => {
  test('a passed stream is the same bytes but for the usage, however it is cut into pieces', () => {
    const bytes = Buffer.from(text.join(''))
    const expected = text.toSpliced(4, 1).join('')
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 30 }), (places) => {
        const { out, progress, doneAfter } = passed(cutAt(bytes, places), false)
        expect(out).toBe(expected)
        expect(progress.usage).toEqual({ promptTokens: 7, completionTokens: 3, cachedTokens: 0 })
        expect(doneAfter).toBe(7)
      }),
      { numRuns: 200 },
    )
  })

  test('a passed stream has the cost in its usage when the client asked for the usage', () => {
    const { out } = passed([Buffer.from(text.join(''))], true)
    expect(out).toContain('"usage":{"prompt_tokens":7,"completion_tokens":3,"cost_usd":0.5}')
  })

  test('a passed stream keeps a usage that comes with text, and believes no nonsense', () => {
    const both = chunkEvent({ content: 'x' }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 1 } })
    const nonsense = chunkEvent({ content: 'y' }, null, { usage: { prompt_tokens: -5 } })
    const { out, progress } = passed([Buffer.from(both + nonsense)], false)
    expect(out).toBe(both + nonsense)
    expect(progress.usage?.promptTokens).toBe(1)
  })

  test('a passed stream with an event beyond any reason is given up', () => {
    const endless = Array.from({ length: 9 }, () => Buffer.alloc(1024 * 1024, 'x'))
    expect(() => passed(endless, false)).toThrow(expect.objectContaining({ code: 'upstream-failed' }))
  })
})
