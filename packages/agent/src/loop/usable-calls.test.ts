import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { readLoopState } from './read-loop-state.ts'
import { runLoop } from './run-loop.ts'
import { usableCalls } from './usable-calls.ts'

const answer = { text: '', cutOff: false, tokens: 0, promptTokens: 0, answeredBy: null, costUsd: 0 }
const content = sanitizeForPrompt('')

test('ids are unlike each other over the whole conversation, and seals follow their call', () => {
  const messages = [
    { role: 'assistant', content, toolCalls: calls(['call_0', 'look', '{}'], ['call_6_1', 'look', '{}']) },
    { role: 'tool', content, toolCallId: 'call_0' },
  ] as const
  const toolCalls = calls(
    ['call_0', 'look', '{}'],
    ['', 'look', '{}'],
    ['own', 'look', '{}'],
    ['own', 'look', '{}'],
  )
  const thoughts = [
    { type: 'reasoning.encrypted', data: 's', id: 'call_0' },
    { type: 'reasoning.text', text: 'hm' },
    { type: 'reasoning.encrypted', data: 't', id: 'own' },
  ]
  const usable = usableCalls({ ...answer, toolCalls, thoughts }, { messages: [...messages], step: 5 })
  expect(usable.toolCalls.map(({ id }) => id)).toEqual(['call_6_0', 'call_6_1_1', 'own', 'call_6_3'])
  expect(usable.thoughts).toEqual([{ ...thoughts[0], id: 'call_6_0' }, thoughts[1], thoughts[2]])
})

test('the thinking of an answer with calls goes back with it, byte for byte, also after a restart', async () => {
  const thoughts = [
    { type: 'reasoning.text', text: 'First I look. ', signature: 'c2lnbmVk==', from: 'anthropic' },
    { type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'call_1', from: 'anthropic' },
  ]
  const model = createScriptedModel([
    { thoughts, toolCalls: calls(['call_1', 'look', '{}'], ['call_2', 'look', '{}']) },
    { text: 'done' },
  ])
  const state = aState()
  await runLoop(loopParts(model, [fakeTool('look', 'none')]).deps, state, new AbortController().signal)
  const sent = model.asked[1]?.messages.find(({ role }) => role === 'assistant')
  expect(sent).toMatchObject({ thoughts })
  const stored = readLoopState(JSON.parse(JSON.stringify(state)))
  expect(stored?.messages.find(({ role }) => role === 'assistant')).toMatchObject({ thoughts })
})
