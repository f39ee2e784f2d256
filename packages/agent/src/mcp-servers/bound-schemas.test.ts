import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { boundSchemas, schemasMaxChars } from './bound-schemas.ts'
import { anyParameters } from './describe-tools.ts'
import type { NamedTool } from './name-tools.ts'

const named = (name: string, chars: number): NamedTool => ({
  server: 's',
  name,
  tool: {
    name,
    description: sanitizeForPrompt('d'),
    parameters: { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(chars) } } },
  },
})
const charsOf = (tools: readonly NamedTool[]) =>
  tools.reduce((sum, { tool }) => sum + JSON.stringify(tool.parameters).length, 0)

describe('the schemas of all servers’ tools', () => {
  test('the schemas of all servers’ tools stay as they are where they fit together', () => {
    const tools = Array.from({ length: 512 }, (_, at) => named(`t${at}`, 500))
    expect(boundSchemas(tools)).toEqual({ tools, leftOut: 0 })
  })

  test('the schemas of all servers’ tools are bounded together, and the longest go first', () => {
    const small = named('small', 100)
    const tools = [...Array.from({ length: 511 }, (_, at) => named(`t${at}`, 7800)), small]
    expect(charsOf(tools)).toBeGreaterThan(7 * schemasMaxChars)
    const bounded = boundSchemas(tools)
    expect(charsOf(bounded.tools)).toBeLessThanOrEqual(schemasMaxChars + 511 * 100)
    expect(bounded.tools.at(-1)).toEqual(small)
    expect(bounded.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name))
    expect(bounded.tools[0]?.tool.parameters).toEqual(anyParameters)
    expect(bounded.leftOut).toBeGreaterThan(50)
  })
})
