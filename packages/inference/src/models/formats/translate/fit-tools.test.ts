import { describe, expect, test } from 'vitest'
import { fitTools } from './fit-tools.ts'

const parameters = { type: 'object', properties: { at: { type: 'string' } } }
const tool = (made: object) => ({ type: 'function', function: { name: 'look', ...made } })

describe('the tools of a request', () => {
  test('the tools of a request go on as they are where there is nothing to change', () => {
    const request = { tools: [tool({ parameters, description: 'looks' })], tool_choice: 'auto' }
    expect(fitTools(request)).toBe(request)
    expect(fitTools({ model: 'm' })).toEqual({ model: 'm' })
  })

  test.each([
    ['an empty list of tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: false }],
    ['a choice without tools', { tool_choice: 'none' }],
  ])('the tools of a request are not mentioned if it has no tools: %s', (_what, request) => {
    expect(fitTools({ model: 'm', ...request })).toEqual({ model: 'm' })
  })

  test.each([
    ['none', {}],
    ['no properties', { parameters: { type: 'object' } }],
    ['no type', { parameters: { properties: {} } }],
  ])('the tools of a request have an object with properties as their schema: %s', (_what, made) => {
    expect(fitTools({ tools: [tool(made)] })).toEqual({
      tools: [tool({ parameters: { type: 'object', properties: {} } })],
    })
  })

  test('the tools of a request have a description that OpenAI takes', () => {
    const { tools } = fitTools({ tools: [tool({ parameters, description: 'x'.repeat(3000) })] })
    expect(JSON.stringify(tools)).toContain(`"${'x'.repeat(1023)}…"`)
  })
})
