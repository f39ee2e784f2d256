import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createApprovalOfCall, createApprovalOfRun } from './approval-of-run.ts'
import { originOf } from '../runs/submit-run.ts'
import { createApprovalTable } from './approval-table.ts'
import { approvalDigest } from './approval-record.ts'
import { effectDigest } from './equal-effects.ts'

function aTable() {
  const database = migrated()
  database.exec('PRAGMA foreign_keys = OFF')
  const table = createApprovalTable(database)
  const insert = (id: string, runId: string | null, args: JsonObject) => {
    const kind = 'wipe'
    table.insert(
      {
        id,
        kind,
        subject: 's',
        summary: 's',
        args,
        digest: approvalDigest(kind, args),
        requester: 'agent:scout',
        origin: originOf({ kind: 'human', role: 'owner', channel: 'cli' }),
        runId,
        state: 'pending',
        createdAt: 1,
        expiresAt: 2,
        resolvedAt: null,
        resolvedBy: null,
        detail: '',
      },
      effectDigest(kind, args),
    )
  }
  return { table, insert, ofRun: createApprovalOfRun(database), ofCall: createApprovalOfCall(database) }
}

describe('the approval of an equal effect', () => {
  test('is the newest one that the run requested, also after it was decided', () => {
    const { table, insert, ofRun } = aTable()
    insert('first', 'run_1', { what: 'a' })
    table.move('first', 'pending', { state: 'cancelled', at: 3, by: 'human:cli', detail: 'No.' })
    expect(ofRun('run_1', { kind: 'wipe', args: { what: 'a' } })).toMatchObject({
      id: 'first',
      state: 'cancelled',
      detail: 'No.',
    })
    insert('second', 'run_1', { what: 'a' })
    expect(ofRun('run_1', { kind: 'wipe', args: { what: 'a' } })?.id).toBe('second')
  })

  test('is none of another run, another effect or another kind', () => {
    const { insert, ofRun } = aTable()
    insert('first', 'run_1', { what: 'a' })
    insert('alone', null, { what: 'b' })
    expect(ofRun('run_2', { kind: 'wipe', args: { what: 'a' } })).toBe(null)
    expect(ofRun('run_1', { kind: 'wipe', args: { what: 'b' } })).toBe(null)
    expect(ofRun('run_1', { kind: 'other', args: { what: 'a' } })).toBe(null)
  })

  test('is that which the run joined', () => {
    const { table, insert, ofRun } = aTable()
    insert('first', 'run_1', { what: 'a' })
    table.join({ id: 'first', runId: 'run_1' }, 'run_2')
    expect(ofRun('run_2', { kind: 'wipe', args: { what: 'a' } })?.id).toBe('first')
    expect(ofRun('run_3', { kind: 'wipe', args: { what: 'a' } })).toBe(null)
  })
})

describe('the approval of a call', () => {
  test('is the newest one with the run and the key of the call', () => {
    const { insert, ofCall } = aTable()
    insert('first', 'run_1', { run_id: 'run_1', once: 'key', what: 'a' })
    insert('second', 'run_1', { run_id: 'run_1', once: 'key', what: 'b' })
    insert('other', 'run_2', { run_id: 'run_2', once: 'key' })
    insert('later', 'run_1', { run_id: 'run_1', once: 'key 2' })
    expect(ofCall('run_1', 'key')?.id).toBe('second')
    expect(ofCall('run_2', 'key')?.id).toBe('other')
    expect(ofCall('run_2', 'key 2')).toBe(null)
    expect(ofCall('run_3', 'key')).toBe(null)
  })
})
