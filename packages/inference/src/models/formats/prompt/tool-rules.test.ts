import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { nothingFound } from './prompt-found.ts'
import { schema } from './tool-rules.ts'

const read = (value: JsonObject) => () => schema(value, { path: ['tools'], found: nothingFound() })
const evil = 'http://evil.test/x'

describe('a schema', () => {
  test.each<JsonObject>([
    { $id: evil, $ref: '#a' },
    { id: evil, $ref: '#a' },
    { $id: '//evil.test/x', $ref: '#a' },
    { $id: ' \\\\evil.test\\x' },
    { $id: [evil] },
    { $anchor: evil },
    { $schema: evil },
    { $schema: 'http://json-schema.org.evil.test/x' },
    { $schema: 'https://json-schema.org/../@evil.test/x' },
    { $ref: [evil] },
    { $ref: { url: evil } },
    { $ref: null },
    { $ref: 'other.json' },
    { $dynamicRef: [evil] },
    { $recursiveRef: evil },
    { properties: { a: { $id: evil } } },
    { properties: { $ref: [evil] } },
    { properties: { id: evil } },
    { properties: { properties: { $ref: { url: evil } } } },
    { properties: [{ $ref: { url: evil } }] },
    { anyOf: [{ items: { $id: evil } }] },
    { default: { $id: evil }, $ref: '#/default' },
  ])('%j leads out and is refused', (value) => {
    expect(read(value)).toThrow('only refer to its own parts')
  })

  test.each<JsonObject>([
    { type: 'object', properties: { id: { type: 'string' }, $ref: { type: 'string' }, $id: true } },
    { properties: { properties: { properties: { $ref: { type: 'string' } } } } },
    { $ref: '#/$defs/a', $defs: { a: { $anchor: 'a' }, id: { $dynamicRef: '#a' } } },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'tool' },
    { $schema: 'http://json-schema.org/draft-07/schema#' },
    { required: ['id', '$ref'], properties: { link: { const: evil, description: evil } } },
  ])('%j stays within itself and goes on as it is', (value) => {
    expect(read(value)()).toBe(value)
  })
})
