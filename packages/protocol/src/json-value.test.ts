import { expect, test } from 'vitest'
import { jsonDepthMax, jsonObjectSchema, jsonValueSchema } from './json-value.ts'

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

test('a value as deep as the bound is taken and one level more is refused', () => {
  expect(jsonValueSchema.safeParse(nested(jsonDepthMax)).success).toBe(true)
  expect(jsonValueSchema.safeParse(nested(jsonDepthMax + 1)).success).toBe(false)
  expect(jsonObjectSchema.safeParse({ a: nested(jsonDepthMax + 1) }).success).toBe(false)
})

test('a value that would exhaust the stack is refused and does not throw', () => {
  expect(jsonValueSchema.safeParse(nested(200_000)).success).toBe(false)
})

test('what JSON cannot say is refused', () => {
  for (const value of [undefined, 1n, () => 1, Symbol('x')]) {
    expect(jsonValueSchema.safeParse(value).success).toBe(false)
  }
  expect(jsonValueSchema.parse({ a: [1, 'b', null, true, { c: 0.5 }] })).toEqual({
    a: [1, 'b', null, true, { c: 0.5 }],
  })
})

test('a member that would be a prototype of a copy stays behind, at any depth', () => {
  const value = jsonValueSchema.parse(JSON.parse('{"a":[{"__proto__":{"x":1},"b":2}],"__proto__":3}'))
  expect(value).toEqual({ a: [{ b: 2 }] })
  expect(JSON.stringify(value)).toBe('{"a":[{"b":2}]}')
})
