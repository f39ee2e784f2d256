import { expect, test } from 'vitest'
import { createHandshakeFailures } from './handshake-failures.ts'

const clock = { now: () => 5, sleep: async () => {} }

test('a host that programs of an agent refuse three times seems to be pinned, and is announced once', () => {
  const failures = createHandshakeFailures({ clock })
  const noted = ['untrusted', 'closed', 'untrusted', 'untrusted'] as const
  expect(noted.map((why) => failures.note('scout', 'a.test', why))).toEqual([
    'first',
    'first',
    'pinned',
    null,
  ])
  failures.note('clerk', 'a.test', 'untrusted')
  failures.note('scout', 'b.test', 'wrong-name')
  expect(failures.pinned()).toEqual([{ host: 'a.test', agent_ids: ['scout'], count: 4 }])
})

test('closed connections count only until a program of the agent sends a request', () => {
  const failures = createHandshakeFailures({ clock })
  for (let at = 0; at < 5; at++) failures.note('scout', 'a.test', 'unused')
  expect(failures.pinned()).toHaveLength(1)
  failures.served('scout', 'a.test')
  expect(failures.pinned()).toEqual([])
  for (let at = 0; at < 3; at++) failures.note('scout', 'a.test', 'untrusted')
  failures.note('clerk', 'a.test', 'untrusted')
  failures.note('scout', 'a.test', 'wrong-name')
  failures.served('scout', 'a.test')
  expect(failures.pinned()).toEqual([])
  expect(failures.list().map(({ agent_id: agentId, why }) => [agentId, why])).toEqual([
    ['scout', 'wrong-name'],
    ['clerk', 'untrusted'],
  ])
})

test('a deleted agent is forgotten, and the number of remembered failures is bounded', () => {
  const failures = createHandshakeFailures({ clock })
  for (let at = 0; at < 250; at++) failures.note('scout', `${at}.test`, 'untrusted')
  expect(failures.list()).toHaveLength(200)
  failures.forget('scout')
  expect(failures.list()).toEqual([])
})
