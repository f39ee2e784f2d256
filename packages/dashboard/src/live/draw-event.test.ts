import { fleetEventBodySchema } from '@flotilla/protocol/fleet-event'
import { expect, it } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { drawEvent, eventDrawings } from './draw-event.ts'
import type { EventDrawings } from './draw-event.ts'
import { staleQueries } from './stale-queries.ts'

const kinds = fleetEventBodySchema.def.options.flatMap((option) => option.def.shape.type.def.values)

it('every kind of event of the contract has its drawing, and what it makes old', () => {
  heedsLesson(113)
  expect(Object.keys(eventDrawings).toSorted()).toEqual(kinds.toSorted())
  expect(Object.keys(staleQueries).toSorted()).toEqual(kinds.toSorted())
})

it('a table that lacks a kind does not compile, nor one that has another', () => {
  heedsLesson(113)
  const { 'agent.died': left, ...others } = eventDrawings
  // @ts-expect-error the drawing of one kind is missing
  const lacking: EventDrawings = others
  // @ts-expect-error no contract names this kind
  const added: EventDrawings = { ...eventDrawings, 'agent.sang': left }
  expect([lacking, added]).toHaveLength(2)
})

it('an event is one line: who, what, and where to read more', () => {
  const drawn = drawEvent({
    type: 'run.changed',
    agent_id: 'scribe',
    run_id: 'run_1',
    parent_id: null,
    state: 'failed',
    outcome: { status: 'failed', text: 'the model is gone' },
  })
  expect(drawn).toEqual({ tone: 'bad', who: 'scribe', what: 'run failed: the model is gone', runId: 'run_1' })
})

it.each([
  [80, 8, 'has used 80 % of its 2026-11 budget of $10.00'],
  [100, 10, 'has used 100 % of its 2026-11 budget of $10.00'],
  [100, 0, 'has too little left of its 2026-11 budget of $10.00 for the next model call'],
])('a budget at %d percent of which %d are spent is described as it is', (percent, spent, what) => {
  const reached = { scope: 'agent', scope_id: 'clerk', period: '2026-11', limit_usd: 10 } as const
  const drawn = drawEvent({ type: 'budget.reached', ...reached, percent, spent_usd: spent })
  expect(drawn).toMatchObject({ who: 'clerk', what })
})

it.each([
  [{ command: 'npm test' }, 'uses run_command: npm test'],
  [{}, 'uses run_command'],
])('a call with %j is described by its telling argument', (input, what) => {
  const call = { agent_id: 'clerk', run_id: 'run_1', step: 1, name: 'run_command', input } as const
  expect(drawEvent({ type: 'tool.started', ...call })).toMatchObject({ who: 'clerk', what })
})
