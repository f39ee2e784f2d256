import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { fitTools } from './fit-tools.ts'
import { isStrictSchema } from './strict-schema.ts'

const closed = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const text = { type: 'string' }

describe('a strict schema', () => {
  test.each([
    ['an object without properties', closed({}), true, true],
    ['every property is required', closed({ a: text, b: { anyOf: [text, { type: 'null' }] } }), true, true],
    ['a property is optional', closed({ a: text }, []), false, true],
    [
      'other properties are allowed',
      { type: 'object', properties: { a: text }, required: ['a'] },
      false,
      false,
    ],
    ['an inner object is open', closed({ a: { type: 'object', properties: {} } }), false, false],
    ['items are open objects', closed({ a: { type: 'array', items: { type: 'object' } } }), false, false],
    [
      'a definition is open',
      { ...closed({ a: { $ref: '#/$defs/t' } }), $defs: { t: { type: 'object' } } },
      false,
      false,
    ],
    [
      'a nullable object is open',
      closed({ a: { type: ['object', 'null'], properties: { b: text } } }),
      false,
      false,
    ],
    ['parts are joined', closed({ a: { allOf: [text] } }), false, false],
    ['one of several is chosen', closed({ a: { oneOf: [text] } }), false, false],
    [
      'names match patterns',
      closed({ a: { ...closed({}), patternProperties: { '^x': text } } }),
      false,
      false,
    ],
    ['a number has a bound', closed({ a: { type: 'integer', minimum: 1 } }), true, false],
    ['the root is a choice', { anyOf: [closed({})] }, false, false],
    ['the root is a list', { type: 'array', items: text }, false, false],
  ] as const)('where %s', (...[_what, schema, openai, anthropic]) => {
    expect(isStrictSchema(schema as JsonObject, 'openai')).toBe(openai)
    expect(isStrictSchema(schema as JsonObject, 'anthropic')).toBe(anthropic)
  })

  test('is sent with strictness where it fits, and without where it does not', () => {
    const tool = (parameters: JsonObject) => ({
      type: 'function',
      function: { name: 'look', parameters, strict: true },
    })
    const format = (schema: JsonObject) => ({
      type: 'json_schema',
      json_schema: { name: 'a', strict: true, schema },
    })
    const good = { tools: [tool(closed({ a: text }))], response_format: format(closed({ a: text })) }
    expect(fitTools(good)).toBe(good)
    const loose = closed({ a: text }, [])
    expect(fitTools({ tools: [tool(loose)], response_format: format(loose) })).toEqual({
      tools: [{ type: 'function', function: { name: 'look', parameters: loose } }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', strict: false, schema: loose } },
    })
  })
})
