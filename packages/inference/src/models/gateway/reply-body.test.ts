import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withUsageAdded } from './reply-body.ts'

const told = { prompt_tokens: 3, completion_tokens: 2, cost_usd: 0.5 }

function spliced(text: string): unknown {
  const answer = JSON.parse(text) as Record<string, unknown>
  return JSON.parse(withUsageAdded(text, answer, told))
}

describe('a usage that is told with its cost', () => {
  test('a usage with its cost takes the place of the one that came, and all else stays as it was spelled', () => {
    const text = '{"id": "a\\nb","usage":{"prompt_tokens":3,"completion_tokens":2},"created":1.0}'
    expect(withUsageAdded(text, JSON.parse(text) as object as Record<string, unknown>, told)).toBe(
      '{"id": "a\\nb","usage":{"prompt_tokens":3,"completion_tokens":2,"cost_usd":0.5},"created":1.0}',
    )
  })

  test.each([
    ['in words of the answer', '{"choices":[{"text":"\\"usage\\":{}"}],"usage":{"prompt_tokens":3}}'],
    ['within another object first', '{"a":{"usage":{"prompt_tokens":3}},"usage":{"prompt_tokens":3}}'],
    ['within another object behind it', '{"usage":{"prompt_tokens":3},"a":{"usage":{"prompt_tokens":3}}}'],
    ['twice', '{"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":3}}'],
    [
      'by an escaped name beside one like it',
      '{"us\\u0061ge":{"prompt_tokens":3},"a":{"usage":{"prompt_tokens":3}}}',
    ],
    ['with blanks', '{"usage" : { "prompt_tokens" : 3 } }'],
    ['with a name that comes twice', '{"usage":{"prompt_tokens":1,"prompt_tokens":3}}'],
    ['with a number that is printed otherwise', '{"usage":{"prompt_tokens":3.0}}'],
  ])('a usage with its cost is reported once where it is %s', (_what, text) => {
    expect(spliced(text)).toEqual({ ...(JSON.parse(text) as object), usage: told })
  })

  test('the usage with its cost is inserted into any answer as if the answer were serialized again', () => {
    const answer = fc.dictionary(fc.constantFrom('a', 'usage', 'id', 'b'), fc.jsonValue({ maxDepth: 3 }))
    fc.assert(
      fc.property(answer, fc.constantFrom(undefined, 1), (before, space) => {
        const text = JSON.stringify(
          { ...before, usage: { prompt_tokens: 3, completion_tokens: 2 } },
          null,
          space,
        )
        expect(spliced(text)).toEqual({ ...(JSON.parse(text) as object), usage: told })
      }),
    )
  })
})
