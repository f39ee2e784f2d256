import { isTerminal, runStates } from '@flotilla/protocol/run'
import { describe, expect, test } from 'vitest'
import { transition } from './run-record.ts'
import type { RunEvent, RunRecord } from './run-record.ts'
import { runLimits } from '../run-limits.ts'

const aRun = (changes: Partial<RunRecord> = {}): RunRecord => ({
  id: 'run_1',
  agentId: 'operator',
  kind: 'chat',
  origin: { kind: 'human', channel: 'cli' },
  input: { kind: 'chat', message: 'hello', session: 'main' },
  state: 'queued',
  attempt: 1,
  turn: 0,
  fence: 0,
  leaseUntil: null,
  parentId: null,
  taskId: null,
  depth: 0,
  proactive: false,
  budgetUsd: null,
  budgetTokens: null,
  traceId: 'run_1',
  createdAt: 1,
  queuedSince: 1,
  availableAt: 1,
  waitingSince: null,
  startedAt: null,
  turnStartedAt: null,
  endedAt: null,
  interimText: null,
  outcome: null,
  tokensUsed: 0,
  costUsd: 0,
  unconfirmedUsd: 0,
  unconfirmedTokens: 0,
  reportedTokens: 0,
  ...changes,
})

const events: readonly RunEvent[] = [
  { kind: 'dispatched', fence: 4 },
  { kind: 'postponed', availableAt: 9 },
  { kind: 'interrupted', availableAt: 9 },
  { kind: 'parked', interimText: 'so far' },
  { kind: 'continued', interimText: 'so far' },
  { kind: 'resumed' },
  { kind: 'settled', outcome: { status: 'done', text: 'end' } },
]

describe('the states of a run', () => {
  test('follow one another as the table says', () => {
    const table = runStates.map((state) => [
      state,
      Object.fromEntries(
        events.map((event) => [event.kind, transition(aRun({ state }), event, 5)?.state ?? '-']),
      ),
    ])
    const never = {
      dispatched: '-',
      postponed: '-',
      interrupted: '-',
      parked: '-',
      continued: '-',
      resumed: '-',
      settled: '-',
    }
    expect(Object.fromEntries(table)).toEqual({
      queued: { ...never, dispatched: 'running', settled: 'done' },
      running: {
        ...never,
        postponed: 'queued',
        interrupted: 'queued',
        parked: 'waiting',
        continued: 'queued',
        settled: 'done',
      },
      waiting: { ...never, resumed: 'queued', settled: 'done' },
      done: never,
      failed: never,
      cancelled: never,
      expired: never,
    })
  })

  test('only a settled run has an outcome and an end', () => {
    for (const state of runStates) {
      for (const event of events) {
        const next = transition(aRun({ state }), event, 5)
        if (!next) continue
        expect(next.outcome !== null).toBe(isTerminal(next.state))
        expect(next.endedAt !== null).toBe(isTerminal(next.state))
        expect(next.leaseUntil !== null).toBe(next.state === 'running')
        expect(next.waitingSince !== null).toBe(next.state === 'waiting')
      }
    }
  })

  test('an interruption uses an attempt, a continuation resets them, and the last attempt cannot be interrupted', () => {
    const run = aRun({ state: 'running', attempt: runLimits.runAttemptsMax })
    const next = (event: RunEvent) => transition(run, event, 5)
    expect(next({ kind: 'interrupted', availableAt: 9 })).toBeNull()
    expect(next({ kind: 'continued', interimText: '' })).toMatchObject({ attempt: 1, turn: 1 })
    expect(transition(aRun({ state: 'running' }), { kind: 'interrupted', availableAt: 9 }, 5)).toMatchObject({
      attempt: 2,
      turn: 0,
      availableAt: 9,
    })
  })

  test('a dispatch assigns a new fencing token and a lease of a minute, and keeps the first start time', () => {
    const first = transition(aRun(), { kind: 'dispatched', fence: 4 }, 5)
    expect(first).toEqual({
      ...aRun(),
      state: 'running',
      fence: 4,
      leaseUntil: 60_005,
      startedAt: 5,
      turnStartedAt: 5,
    })
    const again = transition(aRun({ fence: 4, startedAt: 5 }), { kind: 'dispatched', fence: 6 }, 90)
    expect(again).toMatchObject({ fence: 6, startedAt: 5, turnStartedAt: 90 })
  })

  test('an interrupted run keeps its fencing token and first start, and is queued anew for its next attempt', () => {
    const run = aRun({ state: 'running', fence: 4, leaseUntil: 60, startedAt: 2, turnStartedAt: 3 })
    expect(transition(run, { kind: 'interrupted', availableAt: 90 }, 50)).toEqual({
      ...run,
      state: 'queued',
      attempt: 2,
      leaseUntil: null,
      queuedSince: 50,
      availableAt: 90,
    })
  })

  test('a waiting run keeps its interim text and the time since when it waits', () => {
    const run = aRun({ state: 'running', fence: 4, leaseUntil: 60 })
    expect(transition(run, { kind: 'parked', interimText: 'so far' }, 50)).toEqual({
      ...run,
      state: 'waiting',
      leaseUntil: null,
      waitingSince: 50,
      interimText: 'so far',
    })
  })

  test.each([
    ['news while it worked', 'running', { kind: 'continued', interimText: 'and now' }],
    ['news while it waited', 'waiting', { kind: 'resumed' }],
  ] as const)('%s begins its next turn at once, with all attempts', (_what, state, event) => {
    const run = aRun({ state, attempt: 3, turn: 1, leaseUntil: 60, waitingSince: 40, interimText: 'so far' })
    expect(transition(run, event, 50)).toEqual({
      ...run,
      state: 'queued',
      attempt: 1,
      turn: 2,
      leaseUntil: null,
      waitingSince: null,
      queuedSince: 50,
      availableAt: 50,
      interimText: event.kind === 'continued' ? 'and now' : 'so far',
    })
  })

  test('a settled run keeps its outcome and clears lease and waiting time', () => {
    const outcome = { status: 'failed', text: 'why', code: 'interrupted', result: { rows: 1 } } as const
    const run = aRun({ state: 'waiting', leaseUntil: 60, waitingSince: 40, interimText: 'so far' })
    expect(transition(run, { kind: 'settled', outcome }, 50)).toEqual({
      ...run,
      state: 'failed',
      leaseUntil: null,
      waitingSince: null,
      endedAt: 50,
      outcome,
    })
  })

  test('being postponed does not restart the 24 hours after which a queued run expires', () => {
    const next = transition(
      aRun({ state: 'running', queuedSince: 3 }),
      { kind: 'postponed', availableAt: 9 },
      5,
    )
    expect(next).toMatchObject({ queuedSince: 3, attempt: 1, availableAt: 9 })
  })
})
