import { describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { chooseModel, nextStep } from './failover.ts'
import type { Candidate, Failure, Standing } from './failover.ts'
import type { FailureKind } from './model-health.ts'

function aFailure(kind: FailureKind | null, retryAfterMs = 0): Failure {
  return { problem: new Problem('upstream-failed'), kind, retryAfterMs, mayBeBilled: false, affects: 'all' }
}

function standing(more: Partial<Standing>): Standing {
  return {
    failure: aFailure('outage'),
    retries: 0,
    isLastResort: false,
    elapsedMs: 0,
    others: [],
    chance: 0.5,
    ...more,
  }
}

const rested: Candidate = { index: 1, coolDownLeftMs: 0 }
const cooling = (index: number, coolDownLeftMs: number): Candidate => ({ index, coolDownLeftMs })

describe('the next step after a failure', () => {
  test.each(['outage', 'rate-limited', 'broken', 'empty'] as const)(
    'after %s, the same model is called twice more, then the next',
    (kind) => {
      heedsLesson(128)
      const failure = aFailure(kind)
      const steps = [0, 1, 2].map((retries) => nextStep(standing({ failure, retries, others: [rested] })))
      expect(steps).toEqual([
        { do: 'retry', waitMs: 500 },
        { do: 'retry', waitMs: 2000 },
        { do: 'switch', index: 1, isLastResort: false },
      ])
    },
  )

  test.each(['credential', 'account', 'unknown-model', 'too-large', 'timeout'] as const)(
    'after %s, the next model is called at once',
    (kind) => {
      expect(nextStep(standing({ failure: aFailure(kind), others: [rested] }))).toMatchObject({
        do: 'switch',
      })
    },
  )

  test('what the provider calls final is not asked again, whatever it is', () => {
    const failure = { ...aFailure('outage'), isFinal: true }
    expect(nextStep(standing({ failure, others: [rested] }))).toMatchObject({ do: 'switch' })
    expect(nextStep(standing({ failure }))).toEqual({ do: 'give-up' })
  })

  test('a permanent failure never falls back, even if other models are ready', () => {
    heedsLesson(128)
    expect(nextStep(standing({ failure: aFailure(null), others: [rested] }))).toEqual({ do: 'give-up' })
  })

  test('pauses vary by a quarter to either side', () => {
    const waitMs = (chance: number) => nextStep(standing({ chance }))
    expect([waitMs(0), waitMs(1)]).toEqual([
      { do: 'retry', waitMs: 375 },
      { do: 'retry', waitMs: 625 },
    ])
  })

  test('Retry-After is awaited, within its bound, when no other model can answer', () => {
    const wait = (seconds: number, others: readonly Candidate[]) =>
      nextStep(standing({ failure: aFailure('rate-limited', seconds * 1000), others }))
    expect(wait(7, [])).toEqual({ do: 'retry', waitMs: 7000 })
    expect(wait(7, [cooling(1, 5000)])).toEqual({ do: 'retry', waitMs: 7000 })
    expect(wait(7, [rested])).toMatchObject({ do: 'switch' })
    expect(wait(11, [])).toEqual({ do: 'give-up' })
  })

  test('the same model is not asked again when the call is old', () => {
    expect(nextStep(standing({ elapsedMs: 10_000 }))).toEqual({ do: 'give-up' })
    expect(nextStep(standing({ elapsedMs: 10_000, others: [rested] }))).toMatchObject({ do: 'switch' })
  })

  test('when everybody else cools, the one with the least left is the last resort, and there is one only', () => {
    const others = [cooling(1, 9000), cooling(2, 100)]
    expect(nextStep(standing({ retries: 2, others }))).toEqual({ do: 'switch', index: 2, isLastResort: true })
    expect(nextStep(standing({ retries: 2, others, isLastResort: true }))).toEqual({ do: 'give-up' })
    expect(nextStep(standing({ retries: 1, isLastResort: true }))).toEqual({ do: 'give-up' })
  })
})

describe('the choice of a model', () => {
  test('the choice of a model is the first that does not cool, in the order of the chain', () => {
    expect(
      chooseModel([cooling(0, 5), { index: 1, coolDownLeftMs: 0 }, { index: 2, coolDownLeftMs: 0 }]),
    ).toEqual({
      index: 1,
      isLastResort: false,
    })
  })

  test('the choice of a model is never one that is shut, not even as a last resort', () => {
    const shut = { index: 0, coolDownLeftMs: 1, isShut: true }
    expect(chooseModel([shut, cooling(1, 50)])).toEqual({ index: 1, isLastResort: true })
    expect(chooseModel([shut])).toBeNull()
  })

  test('with all models in cooldown the one with the shortest remaining time is chosen; without models none is', () => {
    expect(chooseModel([cooling(0, 50), cooling(1, 20)])).toEqual({ index: 1, isLastResort: true })
    expect(chooseModel([])).toBeNull()
  })
})
