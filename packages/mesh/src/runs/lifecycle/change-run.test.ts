import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import type { Journal } from '../../journal/journal.ts'
import { aLedgerHarness } from '../../testing/ledger-harness.ts'
import type { LedgerHarness } from '../../testing/ledger-harness.ts'
import { createRunChanges } from './change-run.ts'
import { createRunTable } from './run-table.ts'

function changesIn(world: LedgerHarness, journal: Pick<Journal, 'append'>) {
  const { outbox } = world.ledger.delivery
  const notifier = { tell: () => {} }
  return createRunChanges({ ...world, table: createRunTable(world.database), journal, outbox, notifier })
}

/** A queued run, and what is told of it from here on. */
function aQueuedRun() {
  const world = aLedgerHarness()
  const run = world.chat('ada')
  const journal = collectJournal()
  const before = world.events.lastSeq()
  const { move } = changesIn(world, journal)
  return { world, run, move, journal, told: () => world.events.since(before, 10).map(({ body }) => body) }
}

describe('a change of a run', () => {
  test('stands in its row, in the journal with where the run is now, and is announced', () => {
    const { world, run, move, journal, told } = aQueuedRun()
    const next = move(run, { kind: 'dispatched', fence: 7 })
    expect(world.ledger.queries.find(run.id)).toEqual(next)
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
    const { world, run, move, journal, told } = aQueuedRun()
    expect(move(run, { kind: 'resumed' })).toBe(null)
    expect(world.ledger.queries.find(run.id)).toEqual(run)
    expect([journal.entries, told()]).toEqual([[], []])
  })

  test('is none where the run has moved since it was read: of two ends the first one stands', () => {
    const { world, run, move, journal, told } = aQueuedRun()
    move(run, { kind: 'settled', outcome: { status: 'cancelled', text: 'first', code: 'cancelled' } })
    expect(move(run, { kind: 'settled', outcome: { status: 'done', text: 'second' } })).toBe(null)
    expect(world.ledger.queries.find(run.id)?.outcome?.text).toBe('first')
    expect(journal.entries).toHaveLength(1)
    expect(told()).toMatchObject([{ state: 'cancelled', outcome: { status: 'cancelled', text: 'first' } }])
  })

  test('does not stand where it cannot be journalled', () => {
    const { world, run, told } = aQueuedRun()
    const journal = {
      append: () => {
        throw new Error('no room')
      },
    }
    const { move } = changesIn(world, journal)
    expect(() => move(run, { kind: 'dispatched', fence: 7 })).toThrow('no room')
    expect(world.ledger.queries.find(run.id)).toEqual(run)
    expect(told()).toEqual([])
  })
})
