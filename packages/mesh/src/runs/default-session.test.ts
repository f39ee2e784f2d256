import { sessionNameMaxChars } from '@flotilla/protocol/chat-history'
import { expect, test } from 'vitest'
import { defaultSession } from './default-session.ts'

test.each([
  ['cli', undefined, 'default'],
  ['api', undefined, 'api'],
  ['telegram', '17', 'telegram:17'],
  ['telegram', '18', 'telegram:18'],
])('on %s, %s without a name speaks in %s', (channel, user, session) => {
  expect(defaultSession({ kind: 'human', channel, ...(user === undefined ? {} : { user }) })).toBe(session)
})

test('the longest channel and person make a name that agents take', () => {
  const origin = { kind: 'human', channel: 'c'.repeat(32), user: 'u'.repeat(128) } as const
  expect(defaultSession(origin)).toBe(`${origin.channel}:${origin.user}`)
  expect(defaultSession(origin).length).toBeLessThanOrEqual(sessionNameMaxChars)
})
