import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import type { PromptMessage } from '../llm/language-model.ts'
import { cutHistory } from '../loop/cut-history.ts'
import { compactContext } from './compact-context.ts'

const group = (index: number, chars: number): PromptMessage[] => [
  {
    role: 'assistant',
    content: sanitizeForPrompt(''),
    toolCalls: [{ id: `c${index}`, name: 't', arguments: '{}' }],
  },
  { role: 'tool', toolCallId: `c${index}`, content: sanitizeForPrompt('x'.repeat(chars)) },
]
const user: PromptMessage = { role: 'user', content: sanitizeForPrompt('go') }
const groups = (count: number, chars: number): PromptMessage[] =>
  Array.from({ length: count }, (_, index) => group(index, chars)).flat()

test('a conversation that fits is left alone', () => {
  const messages = [user, ...groups(3, 100)]
  expect(compactContext(messages, 1000)).toBe(messages)
})

test('the oldest results give way first and no message disappears', () => {
  const messages = [user, ...groups(20, 1000)]
  const compacted = compactContext(messages, 15_000)
  expect(compacted).toHaveLength(messages.length)
  expect(compacted[2]?.content).toContain('dropped')
  expect(compacted.at(-1)?.content).toHaveLength(1000)
  expect(compacted.reduce((sum, message) => sum + message.content.length, 0)).toBeLessThanOrEqual(15_000)
})

test('the latest messages stay whole even when they are too long', () => {
  expect(compactContext([user, ...groups(4, 1000)], 100).slice(1)).toEqual(groups(4, 1000))
})

test('history is cut to two hundred messages at a message of the user', () => {
  const turns = Array.from({ length: 100 }, (_, index) => [user, ...group(index, 1)]).flat()
  const cut = cutHistory(turns)
  expect(cut.length).toBeLessThanOrEqual(200)
  expect(cut.length).toBeGreaterThan(195)
  expect(cut[0]).toEqual(user)
})

test('one turn too long for any history leaves none, or what it began with', () => {
  const messages = [user, ...groups(5, 100_000)]
  expect(cutHistory(messages)).toEqual([])
  expect(cutHistory(messages, true)).toEqual([user])
})
