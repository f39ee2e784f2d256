import { expect, test } from 'vitest'
import { closedState, nextState, takesPlace } from './session-state.ts'
import type { SessionEvent, SessionState } from './session-state.ts'

const states: readonly SessionState[] = [
  closedState,
  { kind: 'opening', since: 1 },
  { kind: 'live', since: 1 },
  { kind: 'closing', since: 1, reason: 'idle' },
  { kind: 'failed', since: 1, reason: 'gone' },
]
const events: readonly SessionEvent[] = [
  { kind: 'open' },
  { kind: 'opened' },
  { kind: 'close', reason: 'idle' },
  { kind: 'closed' },
  { kind: 'failed', reason: 'gone' },
]

test('each state follows from each event as this table says, and from no other', () => {
  const rows = states.map((state) => [
    state.kind,
    ...events.map((event) => nextState(state, event, 7)?.kind ?? '-'),
  ])
  expect(rows).toEqual([
    ['closed', 'opening', '-', '-', '-', '-'],
    ['opening', '-', 'live', 'closing', '-', 'failed'],
    ['live', '-', '-', 'closing', '-', 'failed'],
    ['closing', '-', '-', '-', 'closed', '-'],
    ['failed', 'opening', '-', 'closing', '-', '-'],
  ])
})

test('a state bears when it began and why', () => {
  expect(nextState({ kind: 'live', since: 1 }, { kind: 'close', reason: 'idle' }, 7)).toEqual({
    kind: 'closing',
    since: 7,
    reason: 'idle',
  })
  expect(nextState(closedState, { kind: 'open' }, 7)).toEqual({ kind: 'opening', since: 7 })
})

test('what may have a container takes a place', () => {
  expect(states.filter(takesPlace).map(({ kind }) => kind)).toEqual(['opening', 'live', 'closing'])
})
