import { expect, test } from 'vitest'
import { describeTools } from './describe-tools.ts'

const shown = (inputSchema: object) =>
  describeTools('s', [{ name: 'a', inputSchema }], null).tools[0]?.parameters
const property = (one: unknown) => shown({ type: 'object', properties: { a: one } })?.properties['a']

/** Schemas of MCP servers for which a provider refused every call, with the report. */
const refused: readonly (readonly [report: string, given: unknown, mended: unknown])[] = [
  ['Automattic/wordpress-mcp#103', { type: 'array' }, { type: 'array', items: {} }],
  [
    'spring-projects/spring-ai#2561',
    { type: ['null', 'array'], description: 'tags' },
    { type: ['null', 'array'], description: 'tags', items: {} },
  ],
  ['smallmain/vscode-unify-chat-provider#162', 'object', {}],
  [
    'afrise/MCPSharp#9',
    { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { type: 'number', exclusiveMinimum: 0, maximum: 9 },
  ],
  ['afrise/MCPSharp#9, required in draft 3', { type: 'string', required: true }, { type: 'string' }],
  [
    'items by position',
    { type: 'array', items: [{ type: 'string' }, { type: 'number' }] },
    { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
  ],
  ['Azure-Samples/remote-mcp-functions-typescript#17', { type: null }, {}],
  ['types of Python', { type: 'Str', enum: [] }, { type: 'string' }],
  ['an unknown type', { type: ['date', 'string'] }, { type: 'string' }],
  ['a part that is missing', { $ref: '#/$defs/Missing', description: 'x' }, { description: 'x' }],
  ['a part elsewhere', { $ref: 'https://example.com/a.json' }, {}],
  ['a base of TypeBox', { $id: 'https://example.com/a', type: 'string' }, { type: 'string' }],
  ['a base of draft 4', { id: 'https://example.com/a', type: 'string' }, { type: 'string' }],
  ['an empty choice', { anyOf: [], type: 'string' }, { type: 'string' }],
]

test.each(refused)(
  'a schema of an MCP server is mended before a provider refuses it: %s',
  (_report, given, mended) => {
    expect(property(given)).toEqual(mended)
  },
)

test('a schema of an MCP server requires only names that it describes', () => {
  const schema = { type: 'object', properties: { a: {} }, required: ['a', 'a', 'gone', 7] }
  expect(shown(schema)).toEqual({ type: 'object', properties: { a: {} }, required: ['a'] })
  const composed = { type: 'object', required: ['b'], allOf: [{ properties: { b: {} } }] }
  expect(shown(composed)).toMatchObject({ required: ['b'] })
})

test('a valid schema of an MCP server stays as it is', () => {
  const schema = {
    type: 'object' as const,
    properties: {
      a: { $ref: '#/$defs/A' },
      type: { type: 'string', enum: ['x'], default: 'x' },
      list: { type: 'array', prefixItems: [{ type: 'string' }], items: false },
      id: { type: 'integer', exclusiveMinimum: 0, 'x-order': 1 },
      any: { anyOf: [{ not: {} }, { type: 'string' }] },
    },
    required: ['a'],
    additionalProperties: {},
    $defs: { A: { type: 'object', properties: {}, additionalProperties: false } },
  }
  expect(shown(schema)).toEqual(schema)
})
