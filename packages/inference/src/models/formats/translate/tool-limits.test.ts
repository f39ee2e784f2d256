import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { requireFewTools, toolLimitsOf, withFewTools } from './tool-limits.ts'

const tool = (name: string) => ({ type: 'function', function: { name } })
const tools = Array.from({ length: 150 }, (_none, index) => tool(`t${index}`))
const names = (request: JsonObject) =>
  (request['tools'] as unknown as { function: { name: string } }[]).map((one) => one.function.name)
const first128 = Array.from({ length: 128 }, (_none, index) => `t${index}`)

describe('the tools of a call', () => {
  test.each([
    ['openai-compatible', 'https://api.openai.com/v1', 128],
    ['openai-compatible', 'https://api.groq.com/openai/v1', 128],
    ['openai-compatible', 'https://api.x.ai/v1', 200],
    ['azure', 'https://corp.openai.azure.com/openai', 128],
    ['google', 'https://generativelanguage.googleapis.com/v1beta', 512],
    ['anthropic', 'https://api.anthropic.com/v1', null],
    ['openai-compatible', 'http://127.0.0.1:8000/v1', null],
    ['scripted', null, null],
  ] as const)('have a limit at %s %s', (kind, baseUrl, max) => {
    expect(toolLimitsOf({ kind, baseUrl }).max).toBe(max)
  })

  test('stay as they are within the limit, and without one', () => {
    const request = { tools: tools.slice(0, 128), messages: [] }
    expect(withFewTools(request, 128)).toBe(request)
    const many = { tools, messages: [] }
    expect(withFewTools(many, null)).toBe(many)
    expect(requireFewTools(many, null, 'lab')).toBe(many)
  })

  test('are the first ones, and a note names the others', () => {
    const few = withFewTools({ tools, messages: [{ role: 'system', content: 'Be brief.' }] }, 128)
    expect(names(few)).toEqual(first128)
    const [system] = few['messages'] as { content: string }[]
    expect(system?.content).toMatch(
      /^Be brief\.\n\n\[This model takes at most 128 tools\. Not available now: t128, t129, /,
    )
    expect(
      withFewTools({ tools, messages: [{ role: 'user', content: 'hi' }] }, 128)['messages'],
    ).toMatchObject([{ role: 'system', content: expect.stringContaining('t149') }, { role: 'user' }])
  })

  test('include each one that was called, in the same order in each round', () => {
    const called = { role: 'assistant', tool_calls: [{ id: 'c', ...tool('t149') }] }
    const asked = { tools, messages: [{ role: 'system', content: 's' }, called] }
    const few = withFewTools(asked, 128)
    expect(names(few)).toEqual([...first128.slice(0, 127), 't149'])
    expect(withFewTools(asked, 128)).toEqual(few)
  })

  test('of a program are refused in words before the call', () => {
    expect(() => requireFewTools({ tools }, 128, 'openai')).toThrow(
      'tools: openai accepts at most 128 tools in one call, and this call has 150',
    )
  })
})
