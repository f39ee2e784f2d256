import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { summaryMessage } from '../context/context-prompts.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { momentMessage } from '../prompt/moment-message.ts'
import { notices } from './notices.ts'
import { sessionHistory } from './session-history.ts'
import type { Session } from './sessions.ts'

const said = (text: string): PromptMessage => ({
  role: 'user',
  content: sanitizeForPrompt(text),
  by: 'person',
})
const told = (text: string): PromptMessage => ({
  role: 'user',
  content: sanitizeForPrompt(text),
  by: 'other',
})
const unmarked = (text: string): PromptMessage => ({ role: 'user', content: sanitizeForPrompt(text) })
const answered = (text: string): PromptMessage => ({
  role: 'assistant',
  content: sanitizeForPrompt(text),
  toolCalls: [],
})

function shown(messages: PromptMessage[], limit = 50) {
  const session: Session = { messages, rounds: 0, continues: 0, flushed: false, taskId: null, trust: null }
  const { messages: views, total } = sessionHistory('default', session, limit)
  return { total, said: views.map(({ role, text }) => `${role}: ${text}`) }
}

describe('a conversation that is shown to people', () => {
  test('a conversation that is shown to people has as their words only what they said', () => {
    const messages: PromptMessage[] = [
      momentMessage(0),
      said('hello'),
      answered('Hi.'),
      { role: 'user', content: notices.continuation },
      { role: 'system', content: notices.repeated },
      { ...said(''), content: notices.steer({ id: 'steer_1', from: 'your user', text: 'make it\nshort' }) },
      answered('Short.'),
    ]
    expect(shown(messages)).toEqual({
      total: 4,
      said: ['user: hello', 'assistant: Hi.', 'user: make it\nshort', 'assistant: Short.'],
    })
  })

  test('a conversation that is shown to people marks texts of a job, another agent or the mesh as not from a person', () => {
    expect(shown([momentMessage(0), told('Task t1 is done.'), answered('Good.')]).said).toEqual([
      'system: Task t1 is done.',
      'assistant: Good.',
    ])
    const summary = summaryMessage(sanitizeForPrompt('They spoke of ships.'), null)
    expect(shown([summary, said('and now?')]).said[0]).toMatch(/^system: \[Summary of/)
  })

  test('a conversation that is shown to people that an older release kept is read by what it looks like', () => {
    const steer = notices.steer({ id: 'steer_1', from: 'your user', text: 'shorter' })
    expect(shown([momentMessage(0), unmarked('hello'), answered('Hi.'), unmarked(steer)]).said).toEqual([
      'user: hello',
      'assistant: Hi.',
      'user: shorter',
    ])
  })

  test('a conversation that is shown to people keeps a person’s words that look like ours', () => {
    expect(shown([said('[It is Monday, 2026-01-05 10:00 UTC.]')]).said).toHaveLength(1)
  })

  test('a conversation that is shown to people counts and cuts off what is shown, not what is left out', () => {
    const messages = [
      momentMessage(0),
      said('one'),
      momentMessage(1),
      said('two'),
      momentMessage(2),
      said('three'),
    ]
    expect(shown(messages, 2)).toEqual({ total: 3, said: ['user: two', 'user: three'] })
  })
})
