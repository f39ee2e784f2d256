import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Tool } from './tool.ts'
import { offeredDefinitions } from './withheld-tools.ts'

const names = ['read_file', 'mail__send', 'Ask', 'a_skill', 'list_files']

function toolOf(name: string): Tool {
  return {
    definition: { name, description: name, parameters: { type: 'object', properties: {} } },
    source: 'builtin',
    run: () => Promise.reject(new Error('not called')),
  } as unknown as Tool
}

test('tools are offered in one order, in whatever order skills and MCP servers have arrived', () => {
  const bytes = JSON.stringify(offeredDefinitions(names.map(toolOf)))
  fc.assert(
    fc.property(fc.shuffledSubarray(names, { minLength: names.length }), (shuffled) => {
      expect(JSON.stringify(offeredDefinitions(shuffled.map(toolOf)))).toBe(bytes)
    }),
  )
})
