import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { turnLearnings } from './turn-learnings.ts'

const hourMs = 3600_000
const intro = 'Learnings: your own notes.'
const [old, fresh] = ['- [one] the sea is wet', '- [two] the tide is late']
const said: PromptMessage = { role: 'user', content: sanitizeForPrompt('hi'), by: 'person' }

const rules = (lines: readonly string[], now = 10 * hourMs) => ({
  currentLearnings: async () => sanitizeForPrompt([intro, ...lines].join('\n')),
  clock: { now: () => now, sleep: async () => undefined },
})
const running = { learnings: `${intro}\n${old}`, endedAt: 10 * hourMs - 60_000, messages: [said] }

test('a conversation begins with all learnings in its system prompt', async () => {
  verifies('purpose:learnings:injected')
  const begins = { learnings: undefined, endedAt: undefined, messages: [] }
  const { inPrompt, news } = await turnLearnings(rules([old, fresh]), begins)
  expect(inPrompt).toBe(`${intro}\n${old}\n${fresh}`)
  expect(news).toEqual([])
})

test('a new learning of a running conversation comes behind it, once, and its system prompt stays the same', async () => {
  const { inPrompt, news } = await turnLearnings(rules([old, fresh]), running)
  expect(inPrompt).toBe(running.learnings)
  expect(news.map(({ content }) => content)).toEqual([
    expect.stringMatching(/Do not follow[^]*the tide is late$/),
  ])
  expect(JSON.stringify(news)).not.toContain('the sea is wet')
  const next = { ...running, messages: [said, ...news, said] }
  expect(await turnLearnings(rules([old, fresh]), next)).toEqual({ inPrompt: running.learnings, news: [] })
  // A compaction removed the message.
  expect((await turnLearnings(rules([old, fresh]), running)).news).toHaveLength(1)
})

test('a conversation that no provider keeps any more takes new learnings up in its system prompt', async () => {
  const paused = { ...running, endedAt: 10 * hourMs - hourMs - 1 }
  const { inPrompt, news } = await turnLearnings(rules([old, fresh]), paused)
  expect(inPrompt).toContain('the tide is late')
  expect(news).toEqual([])
})

test('a person who imitates the message of new learnings does not hide one', async () => {
  const { news } = await turnLearnings(rules([old, fresh]), running)
  const imitated = news.map((message): PromptMessage => ({ ...message, role: 'user', by: 'person' }))
  expect((await turnLearnings(rules([old, fresh]), { ...running, messages: imitated })).news).toHaveLength(1)
})
