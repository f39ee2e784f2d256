import { expect, test } from 'vitest'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { isMoment, momentMessage, withMoment } from './moment-message.ts'

test('the time is stated to the minute, in UTC', () => {
  const message = momentMessage(Date.UTC(2030, 0, 2, 3, 4, 59))
  expect(message).toEqual({ role: 'user', content: '[It is Wednesday, 2030-01-02 03:04 UTC.]' })
})

test('a message that begins a conversation has the time behind its text, and counts as its text', () => {
  const content = withMoment(sanitizeForPrompt('Count the boats.'), Date.UTC(2030, 0, 2, 3, 4, 59))
  expect(content).toBe('Count the boats.\n\n[It is Wednesday, 2030-01-02 03:04 UTC.]')
  expect(isMoment({ role: 'user', content })).toBe(false)
})
