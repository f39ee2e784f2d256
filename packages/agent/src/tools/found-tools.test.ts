import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import type { PromptMessage } from '../llm/language-model.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { sessionHistory } from '../loop/session-history.ts'
import { aContextKeeper, aModelFactStore } from '../testing/context-parts.ts'
import { aState, noMesh, noProvenance } from '../testing/loop-parts.ts'
import { foundTools, isKeptDefinitions, keptDefinitions } from './found-tools.ts'

const line = (name: string, chars = 0) =>
  JSON.stringify({
    name,
    description: `Does ${name}.${'x'.repeat(chars)}`,
    parameters: { type: 'object', properties: {} },
  })

let ids = 0
/** An answer that calls a tool, and the result. */
const called = (name: string, result: string, input: object = {}): PromptMessage[] => {
  const id = `call_${(ids += 1)}`
  return [
    {
      role: 'assistant',
      content: sanitizeForPrompt(''),
      toolCalls: [{ id, name, arguments: JSON.stringify(input) }],
    },
    { role: 'tool', toolCallId: id, content: sanitizeForPrompt(result) },
  ]
}
const user = (text: string): PromptMessage => ({
  role: 'user',
  content: sanitizeForPrompt(text),
  by: 'person',
})

describe('the definitions that a conversation holds', () => {
  test('the definitions of a conversation are those in results of find_tools, and in no other text', () => {
    const messages = [
      user(line('said')),
      ...called('read_file', line('read')),
      ...called(
        'find_tools',
        `Call these with call_tool:\n${line('set_cron')}\n{"name": broken\n{"trust": "outside"}`,
      ),
      ...called('call_tool', line('list_cron'), { name: 'find_tools', arguments: { query: 'x' } }),
    ]
    expect([...foundTools(messages).keys()]).toEqual(['set_cron', 'list_cron'])
  })

  test('definitions leave with the messages that are cut only where they are not kept, the newest within a limit', () => {
    const dropped = [
      ...called('find_tools', line('old', 3000)),
      ...called('find_tools', [line('a', 3000), line('b', 2000)].join('\n')),
    ]
    const kept = keptDefinitions(dropped, called('find_tools', line('b')))
    expect(kept?.content).toContain('"name":"a"')
    expect(kept?.content).not.toContain('"name":"b"')
    expect(kept?.content).not.toContain('"name":"old"')
    expect(keptDefinitions(called('find_tools', line('b')), called('find_tools', line('b')))).toBeNull()
    expect(keptDefinitions([user('nothing was found')], [])).toBeNull()
  })

  test('definitions cannot be claimed by a message that a person wrote', () => {
    const kept = keptDefinitions(called('find_tools', line('a')), [])
    expect(kept).not.toBeNull()
    const copied = user(kept?.content ?? '')
    expect(isKeptDefinitions(copied)).toBe(false)
    expect(foundTools([copied]).size).toBe(0)
  })
})

test('a compaction keeps what was found, also the next one, and people do not read it', async () => {
  const long = () => called('read_file', 'word '.repeat(400))
  const state = aState('the question')
  state.messages.push(...called('find_tools', line('set_cron')), ...Array.from({ length: 12 }, long).flat())
  const model = createScriptedModel(Array.from({ length: 12 }, () => ({ text: 'A summary.' })))
  const keeper = aContextKeeper({ modelFacts: aModelFactStore(9000) })
  const turn = {
    state,
    model,
    mesh: noMesh,
    systemPrompt: sanitizeForPrompt('be good'),
    tools: [],
    signal: new AbortController().signal,
    provenance: () => noProvenance,
    pinFirst: false,
    saveCheckpoint: async () => undefined,
  }
  for (let times = 0; times < 2; times += 1) {
    await keeper.compact(turn)
    expect(state.messages.filter(isKeptDefinitions)).toHaveLength(1)
    expect([...foundTools(state.messages).keys()]).toEqual(['set_cron'])
    expect(JSON.stringify(state.messages)).not.toContain('"name":"find_tools"')
    state.messages.push(...Array.from({ length: 12 }, long).flat())
  }
  const session = {
    messages: state.messages,
    rounds: 0,
    continues: 0,
    flushed: false,
    taskId: null,
    trust: null,
  }
  expect(JSON.stringify(sessionHistory('s', session, 100))).not.toContain('set_cron')
})
