import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test, vi } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Guard } from '../../../identity/src/access/action.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import type { Origin } from '@flotilla/protocol/origin'
import type { PersonNow } from '../../../identity/src/events/index.ts'
import { aLedgerHarness, migrated } from '../../../testing/src/ledger-harness.ts'
import type { RunTasks } from '../runs/ledger/run-tasks.ts'
import { originOf } from '../runs/submit-run.ts'
import { createApprovals } from './approvals.ts'
import type { Approvals } from './approvals.ts'
import { approvalTransitions, canMoveApproval } from './approval-record.ts'
import type { ApprovalRecord } from './approval-record.ts'
import { createApprovalTable } from './approval-table.ts'
import { endOrNow } from './confirm-approval.ts'

const person: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const operator = { kind: 'agent', agentId: 'operator', token: 'door', run: null } as const
const dayMs = 24 * 3600 * 1000

/** Approvals on real rows and a ledger with fake agents; their only kind records what it carried out. */
function aHarness(
  options: {
    guard?: Guard
    database?: ReturnType<typeof migrated>
    /** The kind goes on in the background until this resolves. */
    lasts?: Promise<void>
  } = {},
) {
  const database = options.database ?? migrated()
  const { openOf } = createApprovalTable(database)
  let approvals: Approvals | null = null
  const waiting = (book: RunTasks): RunTasks => ({
    ...book,
    openChildren: (runId) => [...book.openChildren(runId), ...openOf(runId)],
  })
  const harness = aLedgerHarness({
    database,
    wrapTasks: waiting,
    onRunSettled: [(run) => approvals?.runSettled(run)],
  })
  const done: JsonObject[] = []
  const by: Caller[] = []
  const runs: (string | null)[] = []
  let broken = false
  approvals = createApprovals({
    ...harness,
    guard: options.guard ?? (() => {}),
    kinds: {
      wipe: {
        action: () => ({ do: 'manage-fleet' }),
        describe: (args) => ({
          subject: JSON.stringify(args['what']),
          summary: `wipe ${JSON.stringify(args['what'])}`,
          consequences: [`${JSON.stringify(args['what'])} is gone.`],
          price: 'Wiping costs nothing.',
        }),
        carryOut: async (_person, args, line) => {
          runs.push(line?.runId ?? null)
          await options.lasts
          if (broken) throw new Problem('conflict', { detail: 'it moved' })
          done.push(args)
          by.push(_person)
          return 'Wiped.'
        },
        ifCutOff: 'again',
        ...(options.lasts === undefined ? {} : { inBackground: true as const }),
        wasDone: ({ what }) => (what === 'what is gone' ? 'Wiped.' : null),
      },
    },
    notifyRun: harness.ledger.delivery.notifyRun,
    originOf: (caller) => originOf(caller),
    runCosts: () => null,
    log: silentLog,
  })
  const made = approvals
  return {
    ...harness,
    approvals: made,
    done,
    /** The people who carried it out, in order. */
    by,
    /** The runs that it was carried out for, in order. */
    runs,
    breakIt: () => (broken = true),
    ask: (what = 'all', caller: Caller = operator) => made.ask(caller, { kind: 'wipe', args: { what } }),
  }
}

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('the states of an approval', () => {
  test('end, and are used once', () => {
    const states = Object.keys(approvalTransitions)
    expect(states.filter((to) => canMoveApproval('pending', to as 'done'))).toEqual([
      'confirmed',
      'cancelled',
      'expired',
    ])
    for (const end of ['done', 'failed', 'cancelled', 'expired'] as const) {
      expect(states.filter((to) => canMoveApproval(end, to as 'done'))).toEqual([])
    }
  })
})

describe('what waits for a person', () => {
  test('an approval is stored with its exact arguments and their digest before a person sees it', () => {
    const { approvals, ask, database } = aHarness()
    const row = ask()
    expect(createApprovalTable(database).find(row.id)).toEqual(row)
    expect(approvals.read(person, row.id)).toMatchObject({
      kind: 'wipe',
      args: { what: 'all' },
      consequences: ['"all" is gone.'],
      costs: ['Wiping costs nothing.'],
      state: 'pending',
      asked_by: 'agent:operator',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(row.expiresAt - row.createdAt).toBe(dayMs)
  })

  test('what waits for a person asked for again while it waits is the same row, and another argument is another', () => {
    const { ask } = aHarness()
    expect(ask('a').id).toBe(ask('a').id)
    expect(ask('b').digest).not.toBe(ask('a').digest)
  })

  test('what waits for a person is carried out once, by a person, with the arguments that were shown', async () => {
    const { approvals, ask, done } = aHarness()
    const { id, digest } = ask()
    const confirmed = await approvals.confirm(person, { id, digest })
    expect(confirmed).toMatchObject({ state: 'done', detail: 'Wiped.', resolvedBy: 'human:cli' })
    expect(done).toEqual([{ what: 'all' }])
    await expect(approvals.confirm(person, { id, digest })).rejects.toEqual(code('approval-used'))
    expect(done).toHaveLength(1)
  })

  test('what a deleted agent asked for, and what waits about it, is cancelled', () => {
    const { approvals, ask } = aHarness()
    const { id } = ask('of another agent')
    approvals.forget('lead')
    expect(approvals.read(person, id)).toMatchObject({ state: 'pending' })
    approvals.forget('operator')
    expect(approvals.read(person, id)).toMatchObject({
      state: 'cancelled',
      detail: 'Agent operator no longer exists.',
    })
  })

  test.each([
    ['done', 'Wiped.'],
    ['failed', 'it moved'],
  ] as const)('an action in the background answers at once, and is %s later', async (state, detail) => {
    const { promise: lasts, resolve: end } = Promise.withResolvers<void>()
    const { approvals, ask, breakIt, done } = aHarness({ lasts })
    const { id, digest } = ask()
    expect(await approvals.confirm(person, { id, digest })).toMatchObject({ state: 'confirmed', detail: '' })
    expect(approvals.read(person, id)).toMatchObject({ state: 'confirmed', resolved_by: 'human:cli' })
    await expect(approvals.confirm(person, { id, digest })).rejects.toEqual(code('approval-used'))
    expect(done).toEqual([])
    if (state === 'failed') breakIt()
    end()
    await vi.waitFor(() => expect(approvals.read(person, id)).toMatchObject({ state, detail }))
    expect(done).toHaveLength(state === 'done' ? 1 : 0)
  })

  test('what waits for a person confirmed twenty times at once is done once', async () => {
    const { approvals, ask, done } = aHarness()
    const { id, digest } = ask()
    const ends = await Promise.allSettled(
      Array.from({ length: 20 }, () => approvals.confirm(person, { id, digest })),
    )
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1)
    expect(done).toHaveLength(1)
  })

  test('what waits for a person says why it cannot be confirmed, each reason by its own code', async () => {
    heedsLesson(43, 58)
    const { approvals, ask, clock, database, done } = aHarness()
    const { id, digest } = ask()
    const nobody: readonly Caller[] = [
      operator,
      { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' },
      { kind: 'internal' },
      { kind: 'system' },
    ]
    for (const caller of nobody) {
      await expect(approvals.confirm(caller, { id, digest })).rejects.toEqual(code('human-only'))
      // Also for an unknown id: the refusal must not reveal which ids exist.
      await expect(approvals.confirm(caller, { id: 'appr_0', digest })).rejects.toEqual(code('human-only'))
    }
    await expect(approvals.confirm(person, { id: 'appr_0', digest })).rejects.toEqual(code('not-found'))
    await expect(approvals.confirm(person, { id, digest: '0'.repeat(64) })).rejects.toEqual(
      code('approval-changed'),
    )
    // A row whose arguments were changed in the database is refused too.
    database.prepare('UPDATE approvals SET args = \'{"what":"more"}\' WHERE id = ?').run(id)
    await expect(approvals.confirm(person, { id, digest })).rejects.toEqual(code('approval-changed'))
    database.prepare('UPDATE approvals SET args = \'{"what":"all"}\' WHERE id = ?').run(id)
    await clock.advance(dayMs)
    await expect(approvals.confirm(person, { id, digest })).rejects.toEqual(code('approval-expired'))
    expect(approvals.read(person, id)).toMatchObject({ state: 'expired' })
    await expect(approvals.confirm(person, { id, digest })).rejects.toEqual(code('approval-expired'))
    const cancelled = ask('other')
    approvals.cancel(person, cancelled.id)
    await expect(approvals.confirm(person, cancelled)).rejects.toEqual(code('approval-used'))
    expect(done).toEqual([])
  })

  test('a failed action is marked as failed with a reason and is not retried', async () => {
    const { approvals, ask, breakIt } = aHarness()
    breakIt()
    const row = ask()
    expect(await approvals.confirm(person, row)).toMatchObject({ state: 'failed', detail: 'it moved' })
    await expect(approvals.confirm(person, row)).rejects.toEqual(code('approval-used'))
  })

  test('what waits for a person has a bound by asker and in all, and what waits is never dropped for what comes', () => {
    const { ask, approvals } = aHarness()
    const first = ask('0')
    for (let count = 1; count < 20; count++) ask(String(count))
    expect(() => ask('20')).toThrow(
      expect.objectContaining({
        code: 'approvals-full',
        detail: '20 actions of agent:operator already wait for a person, the maximum for one agent',
      }),
    )
    for (let agent = 1; agent < 10; agent++) {
      const caller = { ...operator, agentId: `a${agent}` }
      for (let count = 0; count < 20; count++) ask(String(count), caller)
    }
    const late = { ...operator, agentId: 'late' }
    for (const words of ['one more', 'another']) ask(words, late)
    expect(() => ask('a third', late)).toThrow(
      expect.objectContaining({
        code: 'approvals-full',
        detail: '202 actions already wait for a person, the maximum for the fleet',
      }),
    )
    expect(approvals.pendingCount()).toBe(202)
    expect(approvals.read(person, first.id).state).toBe('pending')
  })

  test('an approval of another requester is reported as not found', () => {
    heedsLesson(43)
    const { ask, approvals } = aHarness()
    const other: Caller = { ...operator, agentId: 'other' }
    const row = ask()
    expect(() => approvals.read(other, row.id)).toThrow(code('not-found'))
    expect(() => approvals.cancel(other, row.id)).toThrow(code('not-found'))
    expect(approvals.list(other, { open: true, limit: 10 })).toEqual([])
    expect(approvals.cancel(operator, row.id).state).toBe('cancelled')
  })

  test('what waits for a person asks the guard first, of askers and of those who decide', async () => {
    const asked: string[] = []
    const { ask, approvals } = aHarness({
      guard: (_caller, action) => {
        asked.push(action.do)
        throw new Problem('denied')
      },
    })
    expect(() => ask()).toThrow(code('denied'))
    await expect(approvals.confirm(person, { id: 'appr_1', digest: '' })).rejects.toEqual(code('denied'))
    for (const use of [() => approvals.cancel(person, 'x'), () => approvals.read(person, 'x')]) {
      expect(use).toThrow(code('denied'))
    }
    expect(asked).toEqual(['manage-fleet', 'manage-fleet', 'manage-fleet', 'manage-fleet'])
  })

  test('an action that was confirmed when the mesh died is resumed at the next start', async () => {
    const { ask, approvals, database, done } = aHarness()
    const { id } = ask()
    database
      .prepare("UPDATE approvals SET state = 'confirmed', resolved_by = 'human:cli' WHERE id = ?")
      .run(id)
    await approvals.resume()
    expect(done).toHaveLength(1)
    expect(approvals.read(person, id).state).toBe('done')
  })
})

describe('a confirmed action that is carried out after a restart', () => {
  function confirmed(change: string) {
    const harness = aHarness()
    const { id } = harness.ask()
    harness.database
      .prepare(`UPDATE approvals SET state = 'confirmed', resolved_by = 'human:cli' ${change} WHERE id = ?`)
      .run(id)
    return { ...harness, id }
  }

  test.each([
    ['at its expiry', dayMs, 'expired'],
    ['one millisecond earlier', dayMs - 1, 'done'],
  ] as const)('an action whose mesh returns %s is %3$s', async (_when, passedMs, state) => {
    const { approvals, clock, done, id } = confirmed('')
    await clock.leap(passedMs)
    await approvals.resume()
    expect(done).toHaveLength(state === 'done' ? 1 : 0)
    expect(approvals.read(person, id)).toMatchObject({
      state,
      detail: state === 'done' ? 'Wiped.' : expect.stringContaining('the approval expired before'),
    })
  })

  test('an action whose stored arguments changed since the confirmation fails and is not done', async () => {
    const { approvals, done, id } = confirmed(`, args = '{"what":"more"}'`)
    await approvals.resume()
    expect(done).toEqual([])
    expect(approvals.read(person, id)).toMatchObject({
      state: 'failed',
      detail: `the stored action of approval ${id} differs from the one that was confirmed`,
    })
  })
})

test('an action that was completed when the mesh died is not repeated or rejected', async () => {
  const { ask, approvals, database, done, breakIt } = aHarness()
  const { id } = ask('what is gone')
  database.prepare("UPDATE approvals SET state = 'confirmed', resolved_by = 'human:cli' WHERE id = ?").run(id)
  breakIt()
  await approvals.resume()
  expect(done).toEqual([])
  expect(approvals.read(person, id)).toMatchObject({
    state: 'done',
    detail: 'Wiped.',
    resolved_by: 'human:cli',
  })
})

describe('an action that a named owner had confirmed when the mesh died', () => {
  const confirmedByMax = (now: readonly PersonNow[]) => {
    const harness = aHarness()
    harness.identityEvents.personOf.subscribe((name) => (name === 'max' ? now : []))
    const { id } = harness.ask()
    harness.database
      .prepare("UPDATE approvals SET state = 'confirmed', resolved_by = 'human:max@api' WHERE id = ?")
      .run(id)
    return { ...harness, id }
  }

  test('an action that a named owner had confirmed when the mesh died is done in their name, as long as they are an owner', async () => {
    const { approvals, by, id } = confirmedByMax([{ role: 'owner' }])
    await approvals.resume()
    expect(by).toEqual([{ kind: 'human', channel: 'api', role: 'owner', person: 'max', user: 'max' }])
    expect(approvals.read(person, id)).toMatchObject({ state: 'done', resolved_by: 'human:max@api' })
  })

  test.each([
    ['is a member by now', [{ role: 'member', agents: ['*'] }]],
    ['no longer exists', []],
  ] as const)(
    'an action that a named owner had confirmed when the mesh died is not done where that one %s, and says so',
    async (_who, now) => {
      const { approvals, done, id } = confirmedByMax(now as readonly PersonNow[])
      await approvals.resume()
      expect(done).toEqual([])
      expect(approvals.read(person, id)).toMatchObject({
        state: 'failed',
        detail: expect.stringContaining('human:max@api confirmed the action and has lost the permission'),
      })
    },
  )
})

describe('the run that asked', () => {
  async function asking() {
    const harness = aHarness()
    harness.ledger.start()
    const run = harness.chat('operator', 'remove it')
    await harness.clock.settle()
    const row = harness.ask('all', harness.callerOf('operator'))
    harness.agents.finish('operator', { response: 'It waits for you.' })
    await harness.clock.settle()
    return { harness, run, row }
  }

  test('the run that asked waits, and continues with the person’s decision', async () => {
    const { harness, run, row } = await asking()
    expect(harness.state(run)).toBe('waiting')
    expect(harness.ledger.queries.view(harness.ledger.queries.find(run.id)!).waiting_on).toEqual([row.id])
    await harness.approvals.confirm(person, row)
    await harness.clock.settle()
    expect(harness.agents.working('operator')?.message).toContain(`${row.id}: wipe "all") is done. Wiped.`)
    harness.agents.finish('operator', { response: 'It is gone.' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)?.outcome).toMatchObject({
      status: 'done',
      text: 'It is gone.',
    })
    await harness.ledger.close()
  })

  test('the run that asked is notified when the approval expires', async () => {
    const { harness, run, row } = await asking()
    await harness.clock.leap(dayMs)
    harness.approvals.sweep()
    await harness.clock.settle()
    expect(harness.approvals.read(person, row.id).state).toBe('expired')
    expect(harness.agents.working('operator')?.message).toContain('No person confirmed the action in time')
    expect(harness.state(run)).toBe('running')
    await harness.ledger.close()
  })

  test('the run that asked withdraws its requests when it is cancelled', async () => {
    const { harness, run, row } = await asking()
    harness.ledger.lifecycle.cancelRun(person, run.id)
    expect(harness.approvals.read(person, row.id)).toMatchObject({ state: 'cancelled' })
    await harness.ledger.close()
  })

  const inRun = ({ id, origin }: { readonly id: string; readonly origin: Origin }): Caller => ({
    ...operator,
    run: { ...ticket, runId: id, origin },
  })
  const ticket = { agentId: 'operator', fence: 1, budgetUsd: null, budgetTokens: null, taskId: null }

  test.each(['cancelled', 'done', 'failed'] as const)(
    'an approval that a second run joined stays when the first run is %s, and is carried out for the second',
    async (state) => {
      const { approvals, ask, chat, database, ledger, runs } = aHarness()
      const [first, second] = [chat('operator'), chat('operator')]
      const row = ask('all', inRun(first))
      database
        .prepare("UPDATE runs SET origin = json_set(origin, '$.channel', 'hook') WHERE id = ?")
        .run(second.id)
      ask('all', inRun(second))
      approvals.runSettled({ ...first, state })
      expect(approvals.read(person, row.id)).toMatchObject({
        state: 'pending',
        run_id: second.id,
        origin: { channel: 'hook' },
      })
      await approvals.confirm(person, row)
      expect(runs).toEqual([second.id])
      await ledger.close()
    },
  )

  test('an approval whose run has ended belongs to a run that joins it later', async () => {
    const { approvals, ask, chat, database, ledger, runs } = aHarness()
    const [first, second] = [chat('operator'), chat('operator')]
    const row = ask('all', inRun(first))
    database.prepare("UPDATE runs SET state = 'done', ended_at = 1 WHERE id = ?").run(first.id)
    approvals.runSettled({ ...first, state: 'done' })
    expect(approvals.read(person, row.id)).toMatchObject({ state: 'pending', run_id: first.id })
    ask('all', inRun(second))
    await approvals.confirm(person, row)
    expect(runs).toEqual([second.id])
    await ledger.close()
  })
})

test('an approval that does not exist names the command that lists the others', async () => {
  const { approvals } = aHarness()
  const missing = expect.objectContaining({
    code: 'not-found',
    repair: 'List what waits for you: flotilla pending.',
  })
  await expect(approvals.confirm(person, { id: 'appr_none', digest: '' })).rejects.toEqual(missing)
  expect(() => approvals.cancel(person, 'appr_none')).toThrow(missing)
})

test('an action that fails in the background is logged with its approval', async () => {
  const error = vi.fn()
  const failed = new Error('the disk is full')
  const row = { id: 'appr_7', kind: 'build' } as ApprovalRecord
  const kinds = { build: { inBackground: true } } as unknown as Parameters<typeof endOrNow>[0]['kinds']
  expect(await endOrNow({ kinds, log: { ...silentLog, error } }, row, Promise.reject(failed))).toBe(row)
  await Promise.resolve()
  expect(error).toHaveBeenCalledExactlyOnceWith({ approvalId: 'appr_7', err: failed }, expect.any(String))
})
