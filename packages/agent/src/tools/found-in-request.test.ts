import { deferredToolLimits } from '@flotilla/protocol/deferred-tools'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { runLoop } from '../loop/run-loop.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { createToolFinder } from './find-tools.ts'
import { keptDefinitions } from './found-tools.ts'
import { offeredDefinitions } from './withheld-tools.ts'
import { foundInRequest } from './found-in-request.ts'
import type { PromptMessage } from '../llm/language-model.ts'

const finder = createToolFinder()
const tools = offeredDefinitions(finder.tools)
const line = (name: string, description = `Does ${name}.`) =>
  JSON.stringify({ name, description, parameters: { type: 'object', properties: {} } })

/** An answer with calls, and their results. */
const called = (
  ...made: readonly (readonly [id: string, name: string, result: string])[]
): PromptMessage[] => [
  {
    role: 'assistant',
    content: sanitizeForPrompt(''),
    toolCalls: calls(...made.map(([id, name]) => [id, name, '{}'] as const)),
  },
  ...made.map(([toolCallId, , result]): PromptMessage => ({
    role: 'tool',
    toolCallId,
    content: sanitizeForPrompt(result),
  })),
]

function foundIn(messages: readonly PromptMessage[]) {
  const found = foundInRequest(messages, tools)
  const names = found?.definitions.map(({ name }) => name) ?? []
  return { found, names, results: [...(found?.results.values() ?? [])] }
}

describe('found tools of a request', () => {
  test('found tools of a request are as the conversation holds them, with the names and the other lines of each result', async () => {
    const cron = { ...fakeTool('set_cron', 'none'), deferred: true, source: 'mcp:clock' }
    const ownFinder = createToolFinder()
    const all = [cron, ...ownFinder.tools]
    ownFinder.search(all)
    const model = createScriptedModel([
      { toolCalls: calls(['a', 'find_tools', '{"query":"set_cron"}']) },
      { text: 'done' },
    ])
    await runLoop(loopParts(model, all).deps, aState(), new AbortController().signal)
    const [first, second] = model.asked.map(({ found }) => found)
    expect(first).toEqual({ definitions: [], results: new Map() })
    expect(second?.definitions).toEqual([cron.definition])
    expect([...(second?.results.values() ?? [])]).toEqual([
      { names: ['set_cron'], note: 'Call these by their names.\n{"trust": "outside"}' },
    ])
  })

  test('a result of another tool has no definitions, also if a later answer uses the id of a search again', () => {
    const { names } = foundIn([
      ...called(['x', 'find_tools', line('set_cron')]),
      ...called(['x', 'read_file', line('evil')]),
      ...called(['y', 'find_tools', line('list_cron')], ['y', 'read_file', line('evil')]),
    ])
    expect(names).toEqual(['set_cron'])
  })

  test('a definition that a compaction kept is found, and its message is no result', () => {
    const kept = keptDefinitions(called(['x', 'find_tools', line('set_cron')]), [])
    const { names, results } = foundIn(kept === null ? [] : [kept])
    expect(names).toEqual(['set_cron'])
    expect(results).toEqual([])
  })

  test('a result without definitions stays text, and a request without find_tools has no found tools', () => {
    const messages = called(['x', 'find_tools', 'Nothing fits.'])
    expect(foundIn(messages).results).toEqual([])
    expect(foundInRequest(messages, [])).toBeNull()
  })

  test('more definitions than the mesh accepts stay text', () => {
    const { toolsMax, maxBytes } = deferredToolLimits
    const lines = (count: number) => Array.from({ length: count }, (_, at) => line(`tool_${at}`)).join('\n')
    expect(foundIn(called(['x', 'find_tools', lines(toolsMax)])).names).toHaveLength(toolsMax)
    expect(foundIn(called(['x', 'find_tools', lines(toolsMax + 1)])).found).toBeNull()
    expect(foundIn(called(['x', 'find_tools', line('big', 'x'.repeat(maxBytes))])).found).toBeNull()
  })
})
