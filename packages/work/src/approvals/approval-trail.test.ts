import type { JsonObject } from '@flotilla/protocol/json-value'
import { describe, expect, test } from 'vitest'
import { collectEvents, collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Log } from '../../../foundation/src/platform/log.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import type { NotifyRun } from '../runs/ledger/run-tasks.ts'
import { originOf } from '../runs/submit-run.ts'
import type { ApprovalKinds } from './approval-kind.ts'
import { createApprovalTable } from './approval-table.ts'
import { createApprovals } from './approvals.ts'
import { approvalWaitsMs } from './ask-approval.ts'
import { createMoveApproval } from './settle-approval.ts'
import { createIdentityEvents } from '../../../identity/src/events/index.ts'

const person: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const operator = {
  kind: 'agent',
  agentId: 'operator',
  token: 'door',
  run: {
    runId: 'run_7',
    agentId: 'operator',
    fence: 1,
    taskId: null,
    origin: { kind: 'human', channel: 'cli' },
    budgetUsd: null,
    budgetTokens: null,
  },
} as const satisfies Caller

function whatOf({ what }: JsonObject): string {
  return typeof what === 'string' ? what : ''
}

/** Approvals over real rows; notifications to audit log, events and runs are recorded. */
function aDesk(carryOut: (args: JsonObject) => Promise<string> = async () => 'Wiped.', log: Log = silentLog) {
  const database = migrated()
  const clock = createManualClock()
  const journal = collectJournal()
  const events = collectEvents()
  const notified: unknown[] = []
  let ids = 0
  const kinds: Record<string, ApprovalKinds[string]> = {
    wipe: {
      action: () => ({ do: 'manage-fleet' }),
      describe: (args) => ({
        subject: whatOf(args),
        summary: `wipe ${whatOf(args)}`,
        consequences: [],
        price: 'It costs nothing.',
      }),
      carryOut: async (_person, args) => carryOut(args),
      ifCutOff: 'unknown',
      wasDone: () => null,
    },
  }
  const table = createApprovalTable(database)
  const notifyRun: NotifyRun = (runId, key, note) => void notified.push({ runId, key, note })
  const shared = { database, journal, events, notifyRun, clock }
  const approvals = createApprovals({
    ...shared,
    kinds,
    identityEvents: createIdentityEvents(),
    guard: () => {},
    originOf: (caller) => originOf(caller),
    runCosts: () => null,
    newId: (prefix) => `${prefix}_${++ids}`,
    log,
  })
  const ask = (what = 'all', caller: Caller = operator) =>
    approvals.ask(caller, { kind: 'wipe', args: { what } })
  const move = createMoveApproval({ ...shared, table, kinds })
  return { approvals, ask, kinds, clock, journal, events, told: notified, table, move }
}

describe('the trail of what waits for a person', () => {
  test('the trail of what waits for a person begins with who asked, for which run, and the digest of what exactly', () => {
    const { ask, journal, events } = aDesk()
    const row = ask()
    expect(row).toMatchObject({
      id: 'appr_1',
      runId: 'run_7',
      detail: '',
      resolvedAt: null,
      resolvedBy: null,
    })
    expect(journal.entries).toEqual([
      {
        actor: 'agent:operator',
        action: 'approval.asked',
        subject: row.id,
        detail: { kind: 'wipe', subject: 'all', digest: row.digest, run: 'run_7' },
      },
    ])
    expect(events.bodies).toEqual([
      {
        type: 'approval.asked',
        approval_id: row.id,
        agent_id: 'operator',
        run_id: 'run_7',
        summary: 'wipe all',
        expires_at: row.expiresAt,
      },
    ])
  })

  test('the trail of what waits for a person has only the listed transitions, so nothing is carried out unconfirmed', () => {
    const { ask, move } = aDesk()
    const row = ask()
    for (const to of ['done', 'failed', 'pending'] as const) {
      expect(move(row, { to, by: 'human:cli', detail: '' })).toBe(null)
    }
    expect(move(row, { to: 'confirmed', by: 'human:cli', detail: '' })).toMatchObject({ state: 'confirmed' })
    expect(move(row, { to: 'cancelled', by: 'human:cli', detail: '' })).toBe(null)
  })

  test('the trail of what waits for a person is written once for a repeated request', () => {
    const { ask, journal, events } = aDesk()
    ask()
    ask()
    expect([journal.entries.length, events.bodies.length]).toEqual([1, 1])
  })

  test('another run that requests the same action is recorded once with that run, and a request without a run is not', () => {
    const { ask, journal } = aDesk()
    const row = ask()
    const inRun8 = { ...operator, run: { ...operator.run, runId: 'run_8' } }
    for (const caller of [inRun8, { ...operator, run: null }, operator]) {
      expect(ask('all', caller)).toMatchObject({ id: row.id, joined: true })
    }
    expect(journal.entries.slice(1)).toEqual([
      {
        actor: 'agent:operator',
        action: 'approval.joined',
        subject: row.id,
        detail: { kind: 'wipe', subject: 'all', digest: row.digest, run: 'run_8' },
      },
    ])
  })

  test('the trail of what waits for a person records each step with its actor, and notifies the requesting run only of the end', async () => {
    const { approvals, ask, journal, events, told } = aDesk()
    const row = ask()
    await approvals.confirm(person, row)
    const detail = { kind: 'wipe', subject: 'all', digest: row.digest, asked_by: 'agent:operator' }
    expect(journal.entries.slice(1)).toEqual([
      { actor: 'human:cli', action: 'approval.confirmed', subject: row.id, detail },
      { actor: 'human:cli', action: 'approval.done', subject: row.id, detail },
    ])
    const settled = {
      type: 'approval.settled',
      approval_id: row.id,
      agent_id: 'operator',
      run_id: 'run_7',
    }
    expect(events.bodies.slice(1)).toEqual([
      { ...settled, state: 'confirmed', detail: '' },
      { ...settled, state: 'done', detail: 'Wiped.' },
    ])
    expect(told).toEqual([
      {
        runId: 'run_7',
        key: `approval:${row.id}`,
        note: {
          kind: 'approval-outcome',
          approvalId: row.id,
          summary: 'wipe all',
          state: 'done',
          detail: 'Wiped.',
        },
      },
    ])
  })

  test('the trail of what waits for a person notifies no run of a request without a run', async () => {
    const { approvals, ask, told } = aDesk()
    for (const caller of [person, { ...operator, run: null }]) {
      const row = ask('all', caller)
      expect(row.runId).toBe(null)
      await approvals.confirm(person, row)
    }
    expect(told).toEqual([])
  })

  test('the trail of what waits for a person distinguishes a refusal by a person from a withdrawal by the requester', () => {
    const { approvals, ask } = aDesk()
    const byPerson = approvals.cancel(person, ask('a').id)
    const byAsker = approvals.cancel(operator, ask('b').id)
    expect(byPerson).toMatchObject({ resolvedBy: 'human:cli', detail: expect.stringContaining('person') })
    expect(byAsker).toMatchObject({
      resolvedBy: 'agent:operator',
      detail: expect.stringContaining('withdrew'),
    })
    expect(() => approvals.cancel(person, byAsker.id)).toThrow(
      expect.objectContaining({ code: 'approval-used', detail: expect.stringContaining('cancelled') }),
    )
  })

  test('a person may cancel an agent’s request, also from a chat, because that does nothing', () => {
    const { approvals, ask } = aDesk()
    expect(approvals.cancel({ kind: 'human', role: 'owner', channel: 'telegram' }, ask().id).state).toBe(
      'cancelled',
    )
  })

  test('a long outcome is truncated in events and runs, and complete in the row', async () => {
    const { approvals, ask, events, told } = aDesk(async () => 'x'.repeat(5000))
    const done = await approvals.confirm(person, ask())
    expect(done.detail).toHaveLength(5000)
    expect(events.bodies.at(-1)).toMatchObject({ detail: 'x'.repeat(2000) })
    expect(told).toMatchObject([{ note: { detail: 'x'.repeat(2000) } }])
  })
})

describe('a confirmed action', () => {
  test('an internal error of a confirmed action marks it as failed without revealing the error', async () => {
    const { approvals, ask } = aDesk(async () => {
      throw new Error('secret path /home/owner')
    })
    const failed = await approvals.confirm(person, ask())
    expect(failed.state).toBe('failed')
    expect(failed.detail).toContain('log of the mesh')
    expect(failed.detail).not.toContain('secret')
  })

  test('a confirmed action that failed is logged with its approval, kind and error', async () => {
    const lines: unknown[] = []
    const broken = new Error('the disk broke')
    const { approvals, ask } = aDesk(
      async () => {
        throw broken
      },
      { ...silentLog, error: (fields) => void lines.push(fields) },
    )
    const row = ask()
    await approvals.confirm(person, row)
    expect(lines).toEqual([{ approvalId: row.id, kind: 'wipe', err: broken }])
  })

  test('a confirmed action that another process settled meanwhile is returned as that process left it', async () => {
    const desk = aDesk(async () => {
      const row = desk.table.find('appr_1')
      if (row) desk.move(row, { to: 'failed', by: 'system', detail: 'the mesh was stopped' })
      return 'Wiped.'
    })
    const row = desk.ask()
    expect(await desk.approvals.confirm(person, row)).toMatchObject({
      state: 'failed',
      detail: 'the mesh was stopped',
    })
  })

  test('a confirmed action and that this release does not know is failed and not done', async () => {
    for (const forgotten of ['wipe', 'constructor']) {
      const { approvals, kinds, ask, table } = aDesk()
      const row = ask()
      delete kinds['wipe']
      if (forgotten === 'wipe') {
        expect(await approvals.confirm(person, row)).toMatchObject({
          state: 'failed',
          detail: expect.stringContaining('wipe'),
        })
        expect(table.find(row.id)?.state).toBe('failed')
      } else {
        expect(() => approvals.ask(operator, { kind: forgotten, args: {} })).toThrow(forgotten)
      }
    }
  })

  test('a confirmed action is carried out just before its expiry and not at its expiry', async () => {
    const { approvals, ask, clock } = aDesk()
    const [early, late] = [ask('early'), ask('late')]
    await clock.advance(approvalWaitsMs - 1)
    expect((await approvals.confirm(person, early)).state).toBe('done')
    await clock.advance(1)
    await expect(approvals.confirm(person, late)).rejects.toMatchObject({
      code: 'approval-expired',
      detail: expect.stringContaining(new Date(late.expiresAt).toISOString()),
    })
  })

  test('a confirmed action once more after its time is over was done all the same, and is not called expired', async () => {
    const { approvals, ask, clock } = aDesk()
    const row = ask()
    await approvals.confirm(person, row)
    await clock.advance(2 * approvalWaitsMs)
    await expect(approvals.confirm(person, row)).rejects.toMatchObject({ code: 'approval-used' })
  })

  test('a confirmed action with another digest than shown is refused with its id', async () => {
    const { approvals, ask } = aDesk()
    const { id } = ask()
    await expect(approvals.confirm(person, { id, digest: '0'.repeat(64) })).rejects.toMatchObject({
      code: 'approval-changed',
      detail: expect.stringContaining(id),
    })
  })

  test('an expired action is recorded without an actor', async () => {
    const { approvals, ask, clock, journal } = aDesk()
    const row = ask()
    await clock.advance(approvalWaitsMs)
    await expect(approvals.confirm(person, row)).rejects.toMatchObject({ code: 'approval-expired' })
    expect(journal.entries.at(-1)).toMatchObject({ actor: 'system', action: 'approval.expired' })
  })

  test('confirming an action again is rejected with its state and time', async () => {
    const { approvals, ask, clock } = aDesk()
    const row = ask()
    const done = await approvals.confirm(person, row)
    await clock.advance(1000)
    await expect(approvals.confirm(person, row)).rejects.toMatchObject({
      code: 'approval-used',
      detail: expect.stringContaining(new Date(done.resolvedAt ?? 0).toISOString()),
      extra: { state: 'done' },
    })
  })
})

describe('a request', () => {
  test('a request that is repeated after its expiry becomes a new approval', async () => {
    const { ask, clock, table, journal } = aDesk()
    const row = ask()
    await clock.advance(approvalWaitsMs - 1)
    expect(ask().id).toBe(row.id)
    await clock.advance(1)
    const again = ask()
    expect(again.id).not.toBe(row.id)
    expect(table.find(row.id)?.state).toBe('expired')
    expect(table.find(again.id)?.state).toBe('pending')
    expect(journal.entries.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      'agent:operator approval.asked',
      'system approval.expired',
      'agent:operator approval.asked',
    ])
  })

  test('a request by another asker in the same words is a row of its own', () => {
    const { ask } = aDesk()
    expect(ask('all', person).id).not.toBe(ask('all', operator).id)
  })

  test('a request beyond the bounds says when to come again', () => {
    const { ask } = aDesk()
    for (let count = 0; count < 20; count += 1) ask(String(count))
    const refused = expect.objectContaining({ code: 'approvals-full', retryAfterSeconds: 600 })
    expect(() => ask('20')).toThrow(refused)
    for (let agent = 1; agent < 10; agent += 1) {
      for (let count = 0; count < 20; count += 1) {
        ask(String(count), { kind: 'agent', agentId: `a${agent}`, token: 'door', run: null })
      }
    }
    // All places are taken, but a caller with fewer than two pending approvals still gets one.
    for (const words of ['one more', 'another']) ask(words, person)
    expect(() => ask('a third', person)).toThrow(refused)
  })

  test('the newest thousand decided approvals are kept; pending ones are never dropped', () => {
    const { approvals, ask, table } = aDesk()
    const waiting = ask('waits')
    const decided = Array.from({ length: 1000 }, (_, count) => approvals.cancel(person, ask(`${count}`).id))
    ask('the newest')
    expect(table.find(waiting.id)?.state).toBe('pending')
    expect(table.find(decided[0]?.id ?? '')).toBe(null)
    expect(table.find(decided[2]?.id ?? '')?.state).toBe('cancelled')
  })
})

test('an id that is not there is named in the refusal, and no longer than a name may be', async () => {
  const { approvals } = aDesk()
  const id = 'n'.repeat(500)
  const named = { code: 'not-found', detail: expect.stringMatching(/\bn{60}$/) }
  await expect(approvals.confirm(person, { id, digest: '' })).rejects.toMatchObject(named)
  expect(() => approvals.cancel(person, id)).toThrow(expect.objectContaining(named))
})
