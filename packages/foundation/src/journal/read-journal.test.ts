import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import type { Database } from '../storage/database.ts'
import { canonicalJson } from './chain-hash.ts'
import { createJournal } from './journal-table.ts'
import { readJournal } from './read-journal.ts'
import { verifyJournal } from './verify-journal.ts'

function aJournal(rows = 5): Database {
  const database = migrated()
  const journal = createJournal({ database, clock: createManualClock() })
  for (let row = 1; row <= rows; row++) {
    journal.append({
      actor: 'system',
      action: 'run.settled',
      subject: `run_${row}`,
      detail: { row, more: { b: 1, a: [2] } },
    })
  }
  return database
}

const copyRow = (from: number, to: number) =>
  `INSERT INTO journal SELECT ${to}, at, actor, action, subject, detail, previous_hash, hash FROM journal WHERE seq = ${from}`

describe('the journal', () => {
  test('an untouched chain is valid', () => {
    expect(verifyJournal(aJournal())).toEqual({ ok: true, rows: 5 })
    expect(verifyJournal(aJournal(0))).toEqual({ ok: true, rows: 0 })
  })

  test('longer than one page is verified to its end', () => {
    const database = aJournal(1203)
    expect(verifyJournal(database)).toEqual({ ok: true, rows: 1203 })
    database.exec("UPDATE journal SET subject = 'other' WHERE seq = 1100")
    expect(verifyJournal(database)).toMatchObject({ ok: false, rows: 1099, brokenAt: 1100 })
  })

  test.each([
    ['a changed subject', "UPDATE journal SET subject = 'run_9' WHERE seq = 3", 3],
    ['a changed actor', "UPDATE journal SET actor = 'human:cli' WHERE seq = 1", 1],
    ['a changed time', 'UPDATE journal SET at = at + 1 WHERE seq = 5', 5],
    ['a changed detail', `UPDATE journal SET detail = '{"row":9}' WHERE seq = 2`, 2],
    ['an unreadable detail', "UPDATE journal SET detail = 'x' WHERE seq = 2", 2],
    ['a changed hash', "UPDATE journal SET hash = 'x' WHERE seq = 2", 2],
    ['a row removed in the middle', 'DELETE FROM journal WHERE seq = 3', 4],
    ['the first row removed', 'DELETE FROM journal WHERE seq = 1', 2],
    ['the last row removed', 'DELETE FROM journal WHERE seq = 5', 5],
    ['the last rows removed', 'DELETE FROM journal WHERE seq > 2', 3],
    ['all rows removed', 'DELETE FROM journal', 1],
    ['a row added at the end', copyRow(5, 6), 6],
    ['a row added before the first', copyRow(1, 0), 0],
    ['the head removed', 'DELETE FROM journal_head', 5],
    [
      'two rows swapped',
      'UPDATE journal SET seq = 99 WHERE seq = 2; UPDATE journal SET seq = 2 WHERE seq = 3; UPDATE journal SET seq = 3 WHERE seq = 99',
      2,
    ],
    [
      'a row inserted in the middle',
      `UPDATE journal SET seq = -seq WHERE seq > 2; UPDATE journal SET seq = 1 - seq WHERE seq < 0; ${copyRow(2, 3)}`,
      3,
    ],
  ])('the journal shows %s', (_name, tampering, brokenAt) => {
    const database = aJournal()
    database.exec(tampering)
    const verdict = verifyJournal(database)
    expect(verdict).toMatchObject({ ok: false, brokenAt })
    expect(verdict.detail).toBeTruthy()
  })

  test('the journal detects an added row with a correct hash', () => {
    const database = aJournal()
    const head = database.prepare('SELECT seq, count, hash FROM journal_head').get()!
    createJournal({ database, clock: createManualClock() }).append({
      actor: 'system',
      action: 'made.up',
      subject: 'x',
      detail: {},
    })
    database
      .prepare('UPDATE journal_head SET seq = ?, count = ?, hash = ?')
      .run(head['seq']!, head['count']!, head['hash']!)
    expect(verifyJournal(database)).toMatchObject({ ok: false, brokenAt: 6 })
  })

  test('the journal is written in the transaction of the recorded change', () => {
    const database = aJournal()
    const journal = createJournal({ database, clock: createManualClock() })
    const work = () => {
      journal.append({ actor: 'system', action: 'a.b', subject: 'x', detail: {} })
      throw new Error('no')
    }
    expect(() => database.transaction(work)).toThrow('no')
    expect(verifyJournal(database)).toEqual({ ok: true, rows: 5 })
  })

  test('the journal is read in pages', () => {
    const database = aJournal()
    expect(readJournal(database, { after: 1, limit: 2 }).map((row) => row.subject)).toEqual([
      'run_2',
      'run_3',
    ])
    expect(readJournal(database, { after: 5, limit: 2 })).toEqual([])
  })

  test('hashes what comes back from its column as what went in', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (detail) => {
        const database = migrated()
        const json = JSON.parse(JSON.stringify(detail)) as Record<string, never>
        createJournal({ database, clock: createManualClock() }).append({
          actor: 'system',
          action: 'a.b',
          subject: 'x',
          detail: json,
        })
        expect(verifyJournal(database)).toEqual({ ok: true, rows: 1 })
        database.close()
      }),
      { numRuns: 60 },
    )
  })

  test('the journal writes equal values as equal text', () => {
    expect(canonicalJson({ b: [1, { d: 1, c: null }], a: 'é' })).toBe(
      canonicalJson({ a: 'é', b: [1, { c: null, d: 1 }] }),
    )
  })
})
