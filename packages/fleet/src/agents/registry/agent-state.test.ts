import fc from 'fast-check'
import { agentStates } from '@flotilla/protocol/agent-lifecycle'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import {
  agentTransitions,
  isAtRest,
  isForGood,
  restingStates,
  restOf,
  sinceOf,
  transition,
} from './agent-state.ts'
import type { AgentEvent, AgentState, RestingState } from './agent-state.ts'

const resting = fc.constantFrom<RestingState>(...restingStates)
const reason = fc.constantFrom('it hung', 'its container ran out of memory')

/** An event without its timestamp; timestamps rise as in production. */
const anEvent = fc.oneof(
  fc.record({
    kind: fc.constantFrom('start' as const, 'answer' as const, 'end' as const, 'restore' as const),
  }),
  fc.record({ kind: fc.constant('miss' as const), reason }),
  fc.record({
    kind: fc.constantFrom('lose' as const, 'quarantine' as const),
    reason,
    dueAt: fc.integer({ min: 0, max: 1e6 }),
  }),
  fc.record({ kind: fc.constant('stop' as const), to: resting, reason }),
)

const lives = fc.array(anEvent, { maxLength: 60 })

interface Step {
  readonly before: AgentState
  readonly event: AgentEvent
  /** Null if the event is rejected and the state stays. */
  readonly after: AgentState | null
}

/** Applies events to a new agent, as a mesh that follows the table does. */
function live(events: readonly (typeof anEvent extends fc.Arbitrary<infer Event> ? Event : never)[]): Step[] {
  let state: AgentState = { kind: 'created' }
  return events.map((event, index) => {
    const before = state
    const at = index + 1
    const moment: AgentEvent = { ...event, at }
    const after = transition(before, moment)
    if (after !== null) state = after
    return { before, event: moment, after }
  })
}

/** Asserts a property of each step in every generated sequence. */
function always(what: (step: Step & { readonly after: AgentState }) => void): void {
  fc.assert(
    fc.property(lives, (events) => {
      for (const step of live(events)) if (step.after !== null) what({ ...step, after: step.after })
    }),
    { numRuns: 500 },
  )
}

describe('the lifecycle of an agent', () => {
  test('the lifecycle of an agent is one union, and its table names every state', () => {
    verifies('states:agent:lifecycle')
    expect(Object.keys(agentTransitions)).toEqual([...agentStates])
  })

  test('the lifecycle of an agent moves as its table says, and an agent is where it was wanted once it has ended', () => {
    always(({ before, event, after }) => {
      const cell = agentTransitions[before.kind][event.kind]
      expect(cell).not.toBeNull()
      if (before.kind === 'stopping' && event.kind === 'end') expect(after.kind).toBe(before.to)
      else expect(after.kind).toBe(cell)
    })
  })

  test('the lifecycle of an agent runs only after its process answered (L1)', () => {
    const leadTo = {
      running: { by: ['answer'], from: ['starting', 'running', 'unhealthy'] },
      unhealthy: { by: ['miss'], from: ['running', 'unhealthy'] },
    }
    always(({ before, event, after }) => {
      const { by, from } =
        after.kind === 'running' || after.kind === 'unhealthy'
          ? leadTo[after.kind]
          : { by: [event.kind], from: [before.kind] }
      expect(by).toContain(event.kind)
      expect(from).toContain(before.kind)
    })
  })

  test('the lifecycle of an agent never ends without that it was wanted, written down before (L2)', () => {
    always(({ before, after }) => {
      const rest = restOf(after)
      if (rest === null || after.kind === 'stopping' || before.kind === after.kind) return
      expect(before.kind === 'archived' || (before.kind === 'stopping' && before.to === rest)).toBe(true)
    })
  })

  test('an intended state is never weakened (L3)', () => {
    always(({ before, after }) => {
      if (before.kind !== 'stopping' || !isForGood(before.to)) return
      const rest = restOf(after)
      expect(rest).not.toBeNull()
      expect(restingStates.indexOf(rest ?? 'stopped')).toBeGreaterThanOrEqual(
        restingStates.indexOf(before.to),
      )
    })
  })

  test('no event leaves deleted, and archived leads only back or to deletion (L4)', () => {
    always(({ before, event }) => {
      expect(before.kind).not.toBe('deleted')
      if (before.kind !== 'archived') return
      expect(event.kind === 'restore' || (event.kind === 'stop' && event.to === 'deleted')).toBe(true)
    })
  })

  test('the lifecycle of an agent counts questions that were not answered in a row, and forgets them with an answer', () => {
    always(({ before, event, after }) => {
      if (after.kind !== 'unhealthy') return
      expect(after.misses).toBe(before.kind === 'unhealthy' ? before.misses + 1 : 1)
      expect(event.kind).toBe('miss')
    })
  })

  test('the lifecycle of an agent never goes back in time', () => {
    always(({ before, after }) => {
      expect(sinceOf(after) ?? 0).toBeGreaterThanOrEqual(sinceOf(before) ?? 0)
    })
  })

  test('the lifecycle of an agent can be ended for good from everywhere, and stopping what rests already changes nothing', () => {
    fc.assert(
      fc.property(lives, resting, (events, wanted) => {
        const last = live(events).at(-1)
        const state = last ? (last.after ?? last.before) : ({ kind: 'created' } as const)
        if (isAtRest(state, 'deleted')) return
        const stopping = transition(state, { kind: 'stop', at: 100, to: 'deleted', reason: '' })
        expect(stopping?.kind).toBe('stopping')
        expect(stopping && transition(stopping, { kind: 'end', at: 101 })?.kind).toBe('deleted')
        // Requesting a weaker state than the current one has no effect.
        if (isAtRest(state, wanted) || state.kind === 'stopping') return
        expect(transition(state, { kind: 'stop', at: 100, to: wanted, reason: '' })?.kind).toBe('stopping')
      }),
      { numRuns: 500 },
    )
  })
})
