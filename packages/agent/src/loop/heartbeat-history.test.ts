import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import type { PromptMessage } from '../llm/language-model.ts'
import { recentMessages } from './heartbeat-history.ts'

const content = sanitizeForPrompt('x'.repeat(10))
const turn: readonly PromptMessage[] = [
  { role: 'user', content },
  { role: 'assistant', content, toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
  { role: 'tool', content, toolCallId: 'a' },
  { role: 'assistant', content, toolCalls: [] },
]

test('whole turns are kept, the newest first', () => {
  const three = [...turn, ...turn, ...turn]
  expect(recentMessages(three, 1000)).toEqual(three)
  expect(recentMessages(three, 100)).toEqual([...turn, ...turn])
  expect(recentMessages(three, 60)).toEqual(turn)
  expect(recentMessages(three, 30)).toEqual([])
})
