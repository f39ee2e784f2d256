import type { ApprovalState } from '@flotilla/protocol/agent-edit'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import type { ApprovalRecord } from './approval-record.ts'
import { originOf } from '../runs/submit-run.ts'
import { createApprovalTable } from './approval-table.ts'
import { createMoveApproval } from './settle-approval.ts'

const row: ApprovalRecord = {
  id: 'appr_1',
  kind: 'wipe',
  subject: 'the disk',
  summary: 'wipe the disk',
  args: { what: 'disk' },
  digest: 'd',
  requester: 'agent:scout',
  origin: originOf({ kind: 'human', role: 'owner', channel: 'cli' }),
  runId: 'run_1',
  state: 'pending',
  createdAt: 1,
  expiresAt: 2,
  resolvedAt: null,
  resolvedBy: null,
  detail: '',
}

function aRoom(of: Partial<ApprovalRecord> = {}) {
  const database = migrated()
  database.exec('PRAGMA foreign_keys = OFF')
  const table = createApprovalTable(database)
  const asked = { ...row, ...of }
  table.insert(asked, 'effect')
  const journal = collectJournal()
  const [events, notified, settled]: [object[], unknown[][], unknown[][]] = [[], [], []]
  const clock = createManualClock()
  const move = createMoveApproval({
    database,
    table,
    kinds: { wipe: { settled: (...given: unknown[]) => void settled.push(given) }, plain: {} } as never,
    journal,
    events: { publish: (event: object) => void events.push(event) },
    notifyRun: (...given: unknown[]) => void notified.push(given),
    clock,
  })
  return { table, asked, journal, events, notified, settled, clock, move }
}

const by = 'human:cli'

describe('the change of an approval', () => {
  test('to confirmed is recorded and published, and notifies no run', () => {
    const { move, asked, table, journal, events, notified, settled, clock } = aRoom()
    const next = move(asked, { to: 'confirmed', by, detail: 'Yes.' })
    const changed = { state: 'confirmed', resolvedAt: clock.now(), resolvedBy: by, detail: 'Yes.' }
    expect(next).toEqual({ ...asked, ...changed })
    expect(table.find('appr_1')).toEqual({ ...asked, ...changed })
    expect(journal.entries).toMatchObject([
      {
        actor: by,
        action: 'approval.confirmed',
        subject: 'appr_1',
        detail: { kind: 'wipe', subject: 'the disk', digest: 'd', asked_by: 'agent:scout' },
      },
    ])
    expect(events).toEqual([
      {
        type: 'approval.settled',
        approval_id: 'appr_1',
        agent_id: 'scout',
        run_id: 'run_1',
        state: 'confirmed',
        detail: 'Yes.',
      },
    ])
    expect([notified, settled]).toEqual([[], []])
  })

  test.each<ApprovalState>(['cancelled', 'expired'])(
    'to %s notifies each run that waits, and the kind, with what may be read of the outcome',
    (to) => {
      const { move, asked, table, events, notified, settled } = aRoom()
      table.join(asked, 'run_2')
      move(asked, { to, by, detail: 'x'.repeat(3000) })
      const outcome = {
        kind: 'approval-outcome',
        approvalId: 'appr_1',
        summary: 'wipe the disk',
        state: to,
        detail: 'x'.repeat(2000),
      }
      expect(notified).toEqual([
        ['run_1', 'approval:appr_1', outcome],
        ['run_2', 'approval:appr_1', outcome],
      ])
      expect(settled).toEqual([[{ what: 'disk' }, to]])
      expect(events).toMatchObject([{ detail: 'x'.repeat(2000) }])
      expect(table.find('appr_1')?.detail).toHaveLength(3000)
    },
  )

  test('that another caller made before changes and records nothing', () => {
    const { move, asked, table, journal, events, notified } = aRoom()
    move(asked, { to: 'cancelled', by, detail: 'No.' })
    const recorded = journal.entries.length
    expect(move(asked, { to: 'confirmed', by: 'human:other', detail: 'Yes.' })).toBe(null)
    expect(table.find('appr_1')).toMatchObject({ state: 'cancelled', resolvedBy: by, detail: 'No.' })
    expect([journal.entries.length, events.length, notified.length]).toEqual([recorded, 1, 1])
  })

  test.each<[ApprovalState, ApprovalState]>([
    ['pending', 'done'],
    ['pending', 'failed'],
    ['done', 'confirmed'],
    ['cancelled', 'confirmed'],
    ['confirmed', 'cancelled'],
  ])('from %s to %s is refused', (from, to) => {
    const { move, asked, table, journal, events } = aRoom()
    table.move('appr_1', 'pending', { state: from, at: 5, by, detail: 'before' })
    expect(move({ ...asked, state: from }, { to, by, detail: 'x' })).toBe(null)
    expect(table.find('appr_1')).toMatchObject({ state: from, detail: 'before' })
    expect([journal.entries, events]).toEqual([[], []])
  })

  test.each(['plain', 'toString', 'unknown'])('of the kind %s, which needs no notice, is made', (kind) => {
    const { move, asked, notified } = aRoom({ kind })
    expect(move(asked, { to: 'cancelled', by, detail: '' })?.state).toBe('cancelled')
    expect(notified).toHaveLength(1)
  })

  test('of a person without a run sends no notification', () => {
    const { move, asked, notified, events } = aRoom({ runId: null, requester: 'human:cli' })
    move(asked, { to: 'cancelled', by, detail: '' })
    expect(notified).toEqual([])
    expect(events).toMatchObject([{ agent_id: 'human:cli', run_id: null }])
  })
})
