import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import type { Journal } from '../../../../foundation/src/journal/journal.ts'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import { createRunChanges } from './change-run.ts'
import { createRunTable } from './run-table.ts'

function changesIn(harness: LedgerHarness, journal: Pick<Journal, 'append'>) {
  const { outbox } = harness.ledger.delivery
  const notifier = { publish: () => {} }
  return createRunChanges({ ...harness, table: createRunTable(harness.database), journal, outbox, notifier })
}

/** A queued run, and what is published about it from here on. */
function aQueuedRun() {
  const harness = aLedgerHarness()
  const run = harness.chat('ada')
  const journal = collectJournal()
  const before = harness.events.lastSeq()
  const { move } = changesIn(harness, journal)
  return { harness, run, move, journal, told: () => harness.events.since(before, 10).map(({ body }) => body) }
}

describe('a change of a run', () => {
  test('a change of a run is in its row and in the audit log, and is published', () => {
    const { harness, run, move, journal, told } = aQueuedRun()
    const next = move(run, { kind: 'dispatched', fence: 7 })
    expect(harness.ledger.queries.find(run.id)).toEqual(next)
    expect(journal.entries).toEqual([
      {
        actor: 'system',
        action: 'run.dispatched',
        subject: run.id,
        detail: { agent: 'ada', state: 'running', fence: 7, attempt: 1, turn: 0 },
      },
    ])
    expect(told()).toEqual([
      {
        type: 'run.changed',
        agent_id: 'ada',
        run_id: run.id,
        parent_id: null,
        state: 'running',
        outcome: null,
      },
    ])
  })

  test('a change that the state does not allow is not made and not published', () => {
    const { harness, run, move, journal, told } = aQueuedRun()
    expect(move(run, { kind: 'resumed' })).toBe(null)
    expect(harness.ledger.queries.find(run.id)).toEqual(run)
    expect([journal.entries, told()]).toEqual([[], []])
  })

  test('a change of a run that has moved since it was read is not made: the first of two ends wins', () => {
    const { harness, run, move, journal, told } = aQueuedRun()
    move(run, { kind: 'settled', outcome: { status: 'cancelled', text: 'first', code: 'cancelled' } })
    expect(move(run, { kind: 'settled', outcome: { status: 'done', text: 'second' } })).toBe(null)
    expect(harness.ledger.queries.find(run.id)?.outcome?.text).toBe('first')
    expect(journal.entries).toHaveLength(1)
    expect(told()).toMatchObject([{ state: 'cancelled', outcome: { status: 'cancelled', text: 'first' } }])
  })

  test('a change of a run is rolled back when it cannot be journaled', () => {
    const { harness, run, told } = aQueuedRun()
    const journal = {
      append: () => {
        throw new Error('no room')
      },
    }
    const { move } = changesIn(harness, journal)
    expect(() => move(run, { kind: 'dispatched', fence: 7 })).toThrow('no room')
    expect(harness.ledger.queries.find(run.id)).toEqual(run)
    expect(told()).toEqual([])
  })
})
