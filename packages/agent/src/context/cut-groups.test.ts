import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { isSummary, summaryMessage } from './context-prompts.ts'
import { cutGroups, groupMessages } from './cut-groups.ts'
import { estimateMessage } from './estimate-tokens.ts'

const user = (text: string): PromptMessage => ({ role: 'user', content: sanitizeForPrompt(text) })
const answer = (text: string): PromptMessage => ({
  role: 'assistant',
  content: sanitizeForPrompt(text),
  toolCalls: [],
})
let made = 0
const group = (sizes: readonly number[]): PromptMessage[] => {
  const ids = sizes.map(() => `call_${(made += 1)}`)
  return [
    {
      role: 'assistant',
      content: sanitizeForPrompt(''),
      toolCalls: ids.map((id) => ({ id, name: 'tool', arguments: '{}' })),
    },
    ...ids.map((toolCallId, index): PromptMessage => ({
      role: 'tool',
      toolCallId,
      content: sanitizeForPrompt('x'.repeat(sizes[index] ?? 0)),
    })),
  ]
}

const piece = fc.oneof(
  fc.string({ maxLength: 400 }).map((text) => [user(`u${text}`)]),
  fc.string({ maxLength: 400 }).map((text) => [answer(`a${text}`)]),
  fc.array(fc.nat(600), { minLength: 1, maxLength: 4 }).map(group),
  fc.nat().map((n): PromptMessage[] => [{ role: 'system', content: sanitizeForPrompt(`careful ${n}`) }]),
)
const conversation = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.flat())
const rule = (room: number, pinFirst = false) => ({ room, pinFirst, isSummary, sizeOf: estimateMessage })

describe('the one way in which messages leave a conversation', () => {
  test('no call is ever parted from its results, and what stays keeps its order', () => {
    heedsLesson(107)
    fc.assert(
      fc.property(conversation, fc.integer({ min: -500, max: 5000 }), fc.boolean(), (messages, room, pin) => {
        const { kept, dropped } = cutGroups(messages, rule(room, pin))
        expect([...kept, ...dropped].length).toBe(messages.length)
        expect(messages.filter((message) => kept.includes(message))).toEqual(kept)
        for (const side of [kept, dropped]) {
          for (const one of groupMessages(messages)) {
            const here = one.filter((message) => side.includes(message)).length
            expect([0, one.length]).toContain(here)
          }
        }
      }),
    )
  })

  test('four calls in one turn at the cut stay together or go together', () => {
    heedsLesson(107)
    const four = group([4000, 4000, 4000, 4000])
    const messages = [user('begin'), ...four, ...group([10]), ...group([10]), user('go on')]
    const { kept, dropped } = cutGroups(messages, rule(100))
    expect(dropped).toEqual(four)
    expect(kept).toHaveLength(messages.length - four.length)
  })

  test('the last words of the user stay, and with a task its words', () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: -500, max: 3000 }), (messages, room) => {
        const { kept } = cutGroups(messages, rule(room))
        const last = messages.findLast((message) => message.role === 'user')
        if (last) expect(kept).toContain(last)
        const task = [user('the task'), ...messages]
        expect(cutGroups(task, rule(room, true)).kept[0]).toBe(task[0])
      }),
    )
  })

  test('a question stays when a steer came after it', () => {
    const question = user('the question')
    const messages = [
      user('old'),
      answer('old answer'),
      user('[It is Monday]'),
      question,
      ...Array.from({ length: 10 }, () => group([3000])).flat(),
      user('a steer'),
      ...group([10]),
      ...group([10]),
    ]
    const { kept } = cutGroups(messages, rule(50))
    expect(kept).toContain(question)
    expect(kept[0]?.content).toBe('[It is Monday]')
  })

  test('cutting again takes nothing more', () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 0, max: 5000 }), (messages, room) => {
        const once = cutGroups(messages, rule(room)).kept
        const needed = once.reduce((sum, message) => sum + estimateMessage(message), 0)
        expect(needed > room || cutGroups(once, rule(room)).dropped.length === 0).toBe(true)
      }),
    )
  })

  test('an earlier summary goes with the rest', () => {
    const summary = summaryMessage(sanitizeForPrompt('before'), null)
    const messages = [summary, answer('a'), ...group([9000]), user('q'), ...group([5]), ...group([5])]
    expect(cutGroups(messages, rule(10)).dropped).toContain(summary)
  })
})
