import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../../tests/verifies.ts'
import { sdkRules } from './sdk-rules.ts'
import type { SdkKind } from './sdk-rules.ts'
import { createToolNames } from './tool-names.ts'
import { fitToolSchema } from '../../formats/tool-schema.ts'
import { thinkingRoom } from './thinking-room.ts'

const kinds = Object.keys(sdkRules) as SdkKind[]

describe('names and ids of tools', () => {
  test('names and ids of tools are what each provider takes, stay apart, and come back as they were', () => {
    heedsLesson(130)
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 120 }), { minLength: 1, maxLength: 8 }),
        (kind, names) => {
          const rules = sdkRules[kind]
          const tools = createToolNames(rules, names)
          const sent = names.map((name) => tools.out(name))
          expect(new Set(sent).size).toBe(names.length)
          for (const [index, name] of sent.entries()) {
            expect(name).toMatch(rules.toolName)
            expect(tools.back(name)).toBe(names[index])
          }
          const ids = names.map((name) => tools.id(name))
          expect(new Set(ids).size).toBe(names.length)
          for (const id of ids) expect(id).toMatch(rules.toolId)
          expect(names.map((name) => createToolNames(rules, []).id(name))).toEqual(ids)
        },
      ),
    )
  })

  test('ids of nine letters are kept for Mistral, and other ids are replaced by nine letters', () => {
    heedsLesson(130)
    const { id } = createToolNames(sdkRules.mistral, [])
    expect(id('gSIMJiOkT')).toBe('gSIMJiOkT')
    expect(id('toolu_01T1x1fJ34qAmk2tNTrN7Up6')).toMatch(/^[a-f0-9]{9}$/)
  })
})

describe('schemas of tools', () => {
  test('schemas of tools have no reference, no other format and no list of numbers where the provider wants it so', () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, at: { type: 'string', format: 'uri' } },
    }
    const schema = {
      type: 'object',
      properties: {
        level: { type: 'integer', enum: [1, 2] },
        node: { $ref: '#/$defs/node', description: 'first' },
        when: { type: 'string', format: 'date-time' },
      },
      $defs: { node },
    }
    const fitted = fitToolSchema(schema, true)
    expect(fitted).toMatchObject({
      properties: {
        level: { type: 'integer', description: 'One of: 1, 2' },
        node: { type: 'object', description: 'first', properties: { at: { type: 'string' } } },
        when: { format: 'date-time' },
      },
    })
    expect(JSON.stringify(fitted)).not.toMatch(/\$ref|\$defs|"enum"|uri/)
  })

  test('schemas of tools have no choice at their root, which OpenAI and Anthropic refuse', () => {
    const one = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
    }
    const other = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    for (const plain of [true, false]) {
      expect(fitToolSchema({ anyOf: [one, other] }, plain)).toEqual({
        type: 'object',
        properties: one.properties,
        required: ['a'],
      })
      expect(fitToolSchema({ allOf: [one], required: ['c'] }, plain)).toEqual({
        type: 'object',
        properties: one.properties,
        required: ['c', 'a', 'b'],
      })
      expect(fitToolSchema({ type: 'object' }, plain)).toEqual({ type: 'object', properties: {} })
    }
  })

  test('name one type at a time where the provider wants it so', () => {
    heedsLesson(130)
    const schema = {
      type: 'object',
      properties: {
        at: { type: ['string', 'null'], description: 'Where' },
        days: { type: 'array' },
        list: { type: ['array', 'null'], items: { type: ['integer', 'string'] } },
        type: { type: ['number'] },
      },
      required: ['at'],
    }
    expect(fitToolSchema(schema, true)).toEqual({
      type: 'object',
      properties: {
        at: { description: 'Where', anyOf: [{ type: 'string' }, { type: 'null' }] },
        days: { type: 'array', items: { type: 'string' } },
        list: {
          anyOf: [
            { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'string' }] } },
            { type: 'null' },
          ],
        },
        type: { type: 'number' },
      },
      required: ['at'],
    })
    expect(fitToolSchema(schema, false)).toEqual(schema)
  })

  test('schemas of tools are objects at their root, whatever was given', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (schema, plain) => {
        expect(fitToolSchema(schema as never, plain)).toMatchObject({ type: 'object', properties: {} })
      }),
    )
  })
})

describe('room to think', () => {
  test('room to think never makes what is asked for larger than the bound that was paid for', () => {
    const effort = fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')
    fc.assert(
      fc.property(
        fc.record({
          kind: fc.constantFrom(...kinds),
          bound: fc.integer({ min: 1, max: 200_000 }),
          budget: fc.option(fc.integer({ min: 1, max: 200_000 })),
          wanted: fc.option(effort),
        }),
        ({ kind, bound, budget, wanted }) => {
          const asked = { bound, budget, effort: wanted as never, isOff: false }
          const room = thinkingRoom(asked, { kind, thinksByEffort: false })
          const added = kind === 'anthropic' || kind === 'bedrock' ? (room.budget ?? 0) : 0
          expect((room.maxOutputTokens ?? 0) + added).toBe(bound)
          if (kind === 'anthropic' || kind === 'bedrock') {
            // These packages enable thinking by themselves if only an effort is given.
            expect(room.effort === null || room.effort === 'none').toBe(true)
          }
        },
      ),
    )
  })
})

describe('a schema for Gemini', () => {
  test('has no keyword that Gemini refuses, and keeps what the keywords meant where it can', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      additionalProperties: false,
      properties: {
        count: { type: 'integer', exclusiveMinimum: 0, multipleOf: 2, default: 2 },
        only: { const: 'x' },
        some: { oneOf: [{ type: 'string' }, { type: 'null' }] },
        both: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { required: ['a'] }] },
        map: { type: 'object', additionalProperties: { type: 'string' }, propertyNames: { pattern: '^a' } },
        const: { type: 'string', description: 'a property with the name of a keyword' },
      },
      required: ['count'],
    }
    expect(fitToolSchema(schema, true)).toEqual({
      type: 'object',
      properties: {
        count: { type: 'integer', minimum: 1 },
        only: { enum: ['x'] },
        some: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        both: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        map: { type: 'object' },
        const: { type: 'string', description: 'a property with the name of a keyword' },
      },
      required: ['count'],
    })
  })

  test('keeps all keywords but propertyNames for other providers', () => {
    const inner = { type: 'object', additionalProperties: { type: 'string' } }
    const schema = { type: 'object', properties: { map: { ...inner, propertyNames: { pattern: '^a' } } } }
    expect(fitToolSchema(schema, false)).toEqual({ type: 'object', properties: { map: inner } })
  })
})
