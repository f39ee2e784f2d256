import { describe, expect, test } from 'vitest'
import { whyNotOf } from './fits-schema.ts'

const parameters = {
  type: 'object' as const,
  properties: { name: { type: 'string' }, count: { type: 'integer' }, list: { type: 'array' }, any: {} },
  required: ['name'],
  additionalProperties: false,
}

describe('arguments for a tool whose schema was not read', () => {
  test.each([
    [{ name: 'x' }],
    [{ name: 'x', count: 3, list: [], any: { deep: true } }],
    [{ name: 'x', any: null }],
  ])('arguments may be meant for a tool: %j', (input) => {
    expect(whyNotOf(parameters, input)).toBeNull()
  })

  test.each([
    [{}, 'Missing: name.'],
    [{ name: 7 }, '`name`: expected string.'],
    [{ name: 'x', count: 1.5 }, '`count`: expected integer.'],
    [{ name: 'x', list: {} }, '`list`: expected array.'],
    [{ name: 'x', other: 1 }, 'There is no parameter other.'],
    [{ name: 'x', constructor: 1 }, 'There is no parameter constructor.'],
  ])('arguments cannot be meant for a tool: %j', (input, reason) => {
    expect(whyNotOf(parameters, input)).toBe(reason)
  })

  test('arguments are left to the server where the schema says nothing', () => {
    expect(whyNotOf({ type: 'object', properties: {} }, { anything: 1 })).toBeNull()
    const strange = { type: 'object' as const, properties: { a: { type: 'date' }, b: 7 } }
    expect(whyNotOf(strange, { a: 1, b: 2, c: 3 })).toBeNull()
  })
})
