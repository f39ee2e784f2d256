import { deferredToolLimits } from '@flotilla/protocol/deferred-tools'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { createScriptedModel } from './scripted-model.ts'
import { runLoop } from '../loop/run-loop.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { createToolFinder } from '../tools/find-tools.ts'
import { keptDefinitions } from '../tools/found-tools.ts'
import { offeredDefinitions } from '../tools/withheld-tools.ts'
import { deferredIn } from './deferred-in-request.ts'
import type { PromptMessage } from './language-model.ts'

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

function told(messages: readonly PromptMessage[]) {
  const deferred = deferredIn({ messages, tools, mayCallTools: true, answerTokensMax: null })
  const list = (deferred?.members['deferred_tools'] ?? []) as { function: { name: string } }[]
  return {
    deferred,
    names: list.map((tool) => tool.function.name),
    found: [...(deferred?.found.values() ?? [])],
  }
}

describe('what an agent tells the mesh about found tools', () => {
  test('each definition is told as the conversation holds it, and each result with its names and its other lines', async () => {
    const cron = { ...fakeTool('set_cron', 'none'), deferred: true, source: 'mcp:clock' }
    const ownFinder = createToolFinder()
    const all = [cron, ...ownFinder.tools]
    ownFinder.search(all)
    const model = createScriptedModel([
      { toolCalls: calls(['a', 'find_tools', '{"query":"set_cron"}']) },
      { text: 'done' },
    ])
    await runLoop(loopParts(model, all).deps, aState(), new AbortController().signal)
    const [first, second] = model.asked.map((request) => deferredIn(request))
    expect(first?.members).toEqual({ deferred_tools: [] })
    expect(second?.members).toEqual({ deferred_tools: [{ type: 'function', function: cron.definition }] })
    expect([...(second?.found.values() ?? [])]).toEqual([
      { found_tools: { names: ['set_cron'], note: 'Call these by their names.\n{"trust": "outside"}' } },
    ])
  })

  test('a result of another tool tells no definitions, also if a later answer uses the id of a search again', () => {
    const { names } = told([
      ...called(['x', 'find_tools', line('set_cron')]),
      ...called(['x', 'read_file', line('evil')]),
      ...called(['y', 'find_tools', line('list_cron')], ['y', 'read_file', line('evil')]),
    ])
    expect(names).toEqual(['set_cron'])
  })

  test('a definition that a compaction kept is told, and its message is no result', () => {
    const kept = keptDefinitions(called(['x', 'find_tools', line('set_cron')]), [])
    const { names, found } = told(kept === null ? [] : [kept])
    expect(names).toEqual(['set_cron'])
    expect(found).toEqual([])
  })

  test('a result without definitions stays text, and a request without find_tools tells nothing', () => {
    const messages = called(['x', 'find_tools', 'Nothing fits.'])
    expect(told(messages).found).toEqual([])
    expect(deferredIn({ messages, tools: [], mayCallTools: true, answerTokensMax: null })).toBeNull()
  })

  test('more definitions than the mesh accepts are told as text alone', () => {
    const { toolsMax, maxBytes } = deferredToolLimits
    const lines = (count: number) => Array.from({ length: count }, (_, at) => line(`tool_${at}`)).join('\n')
    expect(told(called(['x', 'find_tools', lines(toolsMax)])).names).toHaveLength(toolsMax)
    expect(told(called(['x', 'find_tools', lines(toolsMax + 1)])).deferred).toBeNull()
    expect(told(called(['x', 'find_tools', line('big', 'x'.repeat(maxBytes))])).deferred).toBeNull()
  })
})
