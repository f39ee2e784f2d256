import { expect, test } from 'vitest'
import { momentMessage } from './moment-message.ts'

test('the time is stated to the minute, in UTC', () => {
  const message = momentMessage(Date.UTC(2030, 0, 2, 3, 4, 59))
  expect(message).toEqual({ role: 'user', content: '[It is Wednesday, 2030-01-02 03:04 UTC.]' })
})
