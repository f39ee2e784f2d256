import { describe, expect, test } from 'vitest'
import type { Database } from '../../../foundation/src/storage/database.ts'
import { aLedgerHarness, migrated, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'

interface FaultyDatabase extends Database {
  /** The write with this number, counted from now, throws; 0 disables it. */
  failAt(write: number): void
  writes(): number
}

function aFaultyDatabase(): FaultyDatabase {
  const database = migrated()
  let failing = 0
  let count = 0

  function counted<T>(sql: string, work: () => T): T {
    if (/^\s*(INSERT|UPDATE|DELETE)/.test(sql)) {
      count++
      if (count === failing) throw new Error('disk full')
    }
    return work()
  }

  return {
    ...database,
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return new Proxy(statement, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name)
          if (typeof member !== 'function') return member
          return (...values: unknown[]) => counted(sql, () => Reflect.apply(member, target, values))
        },
      })
    },
    failAt: (write) => {
      failing = write
      count = 0
    },
    writes: () => count,
  }
}

const tables = [
  'runs',
  'steers',
  'run_inbox',
  'outbox',
  'tasks',
  'journal',
  'journal_head',
  'events',
  'agent_fences',
]

function everything(database: Database): string {
  return JSON.stringify(tables.map((table) => database.prepare(`SELECT * FROM ${table}`).all()))
}

/** The operator waits for a worker whose run is running, so that a settlement touches every table. */
async function aParkedHandOff(database: Database) {
  const harness = aLedgerHarness({ database })
  harness.ledger.start()
  const parent = harness.chat('operator')
  await harness.clock.settle()
  const given = harness.handOff(harness.callerOf('operator'), {
    to: 'worker',
    title: 'work',
    description: '',
    data: {},
  })
  harness.agents.finish('operator')
  await harness.clock.settle()
  harness.steer('worker')
  return { harness, parent, given }
}

const settlements: readonly (readonly [string, (harness: LedgerHarness, given: Given) => unknown])[] = [
  ['cancelling the child', (harness, given) => harness.ledger.lifecycle.cancelRun(person, given.run_id)],
  [
    'completing the task',
    (harness, given) =>
      harness.completeTask(harness.callerOf('worker'), {
        taskId: given.task_id,
        status: 'done',
        summary: 'did it',
        result: { count: 7 },
      }),
  ],
  [
    'handing off',
    (harness) =>
      harness.handOff(harness.callerOf('worker'), { to: 'other', title: 'more', description: '', data: {} }),
  ],
]
type Given = Awaited<ReturnType<typeof aParkedHandOff>>['given']

describe('a write that fails', () => {
  test.each(settlements)(
    'a failing write in the middle of %s leaves no partial state',
    async (_name, settle) => {
      const database = aFaultyDatabase()
      const { harness, given } = await aParkedHandOff(database)
      const before = everything(database)
      let faults = 0
      for (let write = 1; write < 100; write++) {
        database.failAt(write)
        try {
          settle(harness, given)
          break
        } catch (error) {
          expect(String(error)).toContain('disk full')
          faults++
        }
        database.failAt(0)
        expect(everything(database)).toBe(before)
      }
      database.failAt(0)
      expect(faults).toBeGreaterThan(4)
      expect(everything(database)).not.toBe(before)
      await harness.ledger.close()
    },
  )

  test('a failing write at the end of a turn only delays it: one outcome, one notification', async () => {
    for (let write = 1; write <= 20; write++) {
      const database = aFaultyDatabase()
      const harness = aLedgerHarness({ database })
      harness.ledger.start()
      const run = harness.chat('operator')
      await harness.clock.settle()
      harness.steer('operator')
      database.failAt(write)
      harness.agents.finish('operator', { response: 'four' })
      await harness.clock.advance(10_000)
      expect(harness.ledger.queries.find(run.id)?.outcome).toEqual({ status: 'done', text: 'four' })
      expect(harness.ledger.delivery.outbox.ofRun(run.id)).toHaveLength(1)
      expect(harness.steersOf(run)).toMatchObject([{ state: 'became-run' }])
      expect(harness.ledger.queries.list({ limit: 10 })).toHaveLength(2)
      await harness.ledger.close()
    }
  })

  test('a handler that throws rolls the settlement back', async () => {
    let faults = 1
    const harness = aLedgerHarness({
      onRunSettled: [
        () => {
          if (faults-- > 0) throw new Error('no')
        },
      ],
    })
    const run = harness.chat('operator')
    expect(() => harness.ledger.lifecycle.cancelRun(person, run.id)).toThrow('no')
    expect(harness.state(run)).toBe('queued')
    expect(harness.ledger.delivery.outbox.ofRun(run.id)).toEqual([])
    expect(harness.ledger.lifecycle.cancelRun(person, run.id).state).toBe('cancelled')
  })
})
