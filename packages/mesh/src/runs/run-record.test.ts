import { isTerminal, runStates } from '@flotilla/protocol/run'
import { wireLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { transition } from './run-record.ts'
import type { RunEvent, RunRecord } from './run-record.ts'

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

  test('an interruption uses an attempt, a continuation begins anew, and the last attempt is not interrupted', () => {
    const run = aRun({ state: 'running', attempt: wireLimits.runAttemptsMax })
    const next = (event: RunEvent) => transition(run, event, 5)
    expect(next({ kind: 'interrupted', availableAt: 9 })).toBeNull()
    expect(next({ kind: 'continued', interimText: '' })).toMatchObject({ attempt: 1, turn: 1 })
    expect(transition(aRun({ state: 'running' }), { kind: 'interrupted', availableAt: 9 }, 5)).toMatchObject({
      attempt: 2,
      turn: 0,
      availableAt: 9,
    })
  })

  test('being postponed does not start the day anew after which a queued run expires', () => {
    const next = transition(
      aRun({ state: 'running', queuedSince: 3 }),
      { kind: 'postponed', availableAt: 9 },
      5,
    )
    expect(next).toMatchObject({ queuedSince: 3, attempt: 1, availableAt: 9 })
  })
})
