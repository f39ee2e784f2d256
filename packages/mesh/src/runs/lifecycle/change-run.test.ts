import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import type { Journal } from '../../journal/journal.ts'
import { aLedgerHarness } from '../../testing/ledger-harness.ts'
import type { LedgerHarness } from '../../testing/ledger-harness.ts'
import { createRunChanges } from './change-run.ts'
import { createRunTable } from './run-table.ts'

function changesIn(harness: LedgerHarness, journal: Pick<Journal, 'append'>) {
  const { outbox } = harness.ledger.delivery
  const notifier = { tell: () => {} }
  return createRunChanges({ ...harness, table: createRunTable(harness.database), journal, outbox, notifier })
}

/** A queued run, and what is told of it from here on. */
function aQueuedRun() {
  const harness = aLedgerHarness()
  const run = harness.chat('ada')
  const journal = collectJournal()
  const before = harness.events.lastSeq()
  const { move } = changesIn(harness, journal)
  return { harness, run, move, journal, told: () => harness.events.since(before, 10).map(({ body }) => body) }
}

describe('a change of a run', () => {
  test('stands in its row, in the journal with where the run is now, and is announced', () => {
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

  test('is none where its state does not allow it, and nobody hears of one', () => {
    const { harness, run, move, journal, told } = aQueuedRun()
    expect(move(run, { kind: 'resumed' })).toBe(null)
    expect(harness.ledger.queries.find(run.id)).toEqual(run)
    expect([journal.entries, told()]).toEqual([[], []])
  })

  test('is none where the run has moved since it was read: of two ends the first one stands', () => {
    const { harness, run, move, journal, told } = aQueuedRun()
    move(run, { kind: 'settled', outcome: { status: 'cancelled', text: 'first', code: 'cancelled' } })
    expect(move(run, { kind: 'settled', outcome: { status: 'done', text: 'second' } })).toBe(null)
    expect(harness.ledger.queries.find(run.id)?.outcome?.text).toBe('first')
    expect(journal.entries).toHaveLength(1)
    expect(told()).toMatchObject([{ state: 'cancelled', outcome: { status: 'cancelled', text: 'first' } }])
  })

  test('does not stand where it cannot be journalled', () => {
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
