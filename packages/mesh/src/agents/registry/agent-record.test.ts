import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { transition } from './agent-record.ts'
import type { AgentChange, AgentState } from './agent-record.ts'

const states = {
  stopped: { kind: 'stopped' },
  starting: { kind: 'starting', since: 1 },
  ready: { kind: 'ready', since: 1 },
  failed: { kind: 'failed', since: 1, reason: 'old' },
} as const satisfies Record<string, AgentState>
const changes = {
  start: { kind: 'start', at: 9 },
  answer: { kind: 'answer', at: 9 },
  fail: { kind: 'fail', at: 9, reason: 'new' },
  stop: { kind: 'stop' },
} as const satisfies Record<string, AgentChange>

describe('the life of an agent', () => {
  verifies('states:agent:lifecycle')

  test.each<[keyof typeof states, keyof typeof changes, AgentState | null]>([
    ['stopped', 'start', { kind: 'starting', since: 9 }],
    ['stopped', 'answer', null],
    ['stopped', 'fail', null],
    ['stopped', 'stop', { kind: 'stopped' }],
    ['starting', 'start', { kind: 'starting', since: 9 }],
    ['starting', 'answer', { kind: 'ready', since: 9 }],
    ['starting', 'fail', { kind: 'failed', since: 9, reason: 'new' }],
    ['starting', 'stop', { kind: 'stopped' }],
    ['ready', 'start', { kind: 'starting', since: 9 }],
    ['ready', 'answer', { kind: 'ready', since: 1 }],
    ['ready', 'fail', { kind: 'failed', since: 9, reason: 'new' }],
    ['ready', 'stop', { kind: 'stopped' }],
    ['failed', 'start', { kind: 'starting', since: 9 }],
    ['failed', 'answer', null],
    ['failed', 'fail', { kind: 'failed', since: 9, reason: 'new' }],
    ['failed', 'stop', { kind: 'stopped' }],
  ])('%s, %s', (state, change, next) => {
    expect(transition(states[state], changes[change])).toEqual(next)
  })
})
