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
  expect(recentMessages(three, 130)).toEqual(turn)
  expect(recentMessages(three, 30)).toEqual([])
})

test('the beginning stays the same for several heartbeats, so that a provider finds it in its cache', () => {
  let kept: readonly PromptMessage[] = []
  let broken = 0
  for (let beat = 0; beat < 40; beat += 1) {
    const recent = recentMessages(kept, 1000)
    if (recent.length < kept.length) broken += 1
    kept = [...recent, ...turn]
  }
  // Some 20 turns fit.
  expect(broken).toBeLessThanOrEqual(4)
})
