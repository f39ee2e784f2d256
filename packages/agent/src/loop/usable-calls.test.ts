import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import { calls } from '../testing/loop-parts.ts'
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
