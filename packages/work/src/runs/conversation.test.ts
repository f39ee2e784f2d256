import { sessionNameMaxChars } from '@flotilla/protocol/chat-history'
import { describe, expect, test } from 'vitest'
import { defaultSession, refuseReserved } from './conversation.ts'

test.each([
  ['cli', undefined, 'default'],
  ['api', undefined, 'api'],
  ['telegram', '17', 'telegram:17'],
  ['telegram', '18', 'telegram:18'],
])('on %s, a chat of %s that names no session uses %s', (channel, user, session) => {
  expect(defaultSession({ kind: 'human', channel, ...(user === undefined ? {} : { user }) })).toBe(session)
})

test('the longest channel and user id make a session name that agents accept', () => {
  const origin = { kind: 'human', channel: 'c'.repeat(32), user: 'u'.repeat(128) } as const
  expect(defaultSession(origin)).toBe(`${origin.channel}:${origin.user}`)
  expect(defaultSession(origin).length).toBeLessThanOrEqual(sessionNameMaxChars)
})

describe('reserved session names', () => {
  test.each(['heartbeat', 'task:task_1', 'task:', 'tool:run_1'])(
    '%s belongs to the agent’s own work, and no person can post there',
    (session) => {
      const refusal = { code: 'bad-request', detail: expect.stringContaining(session) as string }
      expect(() => refuseReserved(session)).toThrow(expect.objectContaining(refusal))
    },
  )

  test.each(['main', 'heartbeats', 'my heartbeat', 'my task:1', 'multitool:run_1', 'task', 'tool', ''])(
    '%j only looks like a reserved name, and every person can post there',
    (session) => {
      expect(() => refuseReserved(session)).not.toThrow()
    },
  )
})
