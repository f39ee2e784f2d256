import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Action, Caller, HumanCaller } from '../../../identity/src/access/index.ts'
import { authorize } from '../../../identity/src/access/index.ts'
import type { PersonNow } from '../../../identity/src/events/index.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../../../testing/src/ledger-harness.ts'

const records = { broken: null, recordOf: () => undefined }

/** People are checked by the real rules; agents may do everything. */
function aHarness(options: LedgerHarnessOptions = {}): LedgerHarness {
  const harness = aLedgerHarness({
    guard: (caller: Caller, action: Action) => {
      if (caller.kind === 'agent') return
      const decision = authorize(records, caller, action)
      if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
    },
    ...options,
  })
  onTestFinished(() => harness.ledger.close())
  return harness
}

const viewer: HumanCaller = { kind: 'human', channel: 'cli', role: 'viewer', person: 'vic', agents: ['*'] }
const member: HumanCaller = { kind: 'human', channel: 'cli', role: 'member', person: 'ann', agents: ['left'] }
const given = (to: string, more: { needs?: readonly string[] } = {}) => ({
  to,
  title: 'Count',
  description: '',
  data: {},
  ...more,
})
const codeOf = (act: () => unknown): string => {
  try {
    act()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

/** The actions of a person on a task, each with its result. */
function triesOf(
  harness: LedgerHarness,
  caller: Caller,
  { taskId, assignee }: { readonly taskId: string; readonly assignee: string },
) {
  const { tasks } = harness
  const manage = (action: 'answer' | 'retry' | 'cancel') => () =>
    tasks.manageTask(caller, { taskId, action, note: 'so' })
  return {
    give: codeOf(() => tasks.handOff(caller, given(assignee))),
    answer: codeOf(manage('answer')),
    retry: codeOf(manage('retry')),
    reroute: codeOf(() => tasks.manageTask(caller, { taskId, action: 'reroute', note: '', to: 'third' })),
    cancel: codeOf(manage('cancel')),
    review: codeOf(() => tasks.reviewTask(caller, { taskId, outcome: 'accepted', comment: '' })),
  }
}

const allDenied = {
  give: 'denied',
  answer: 'denied',
  retry: 'denied',
  reroute: 'denied',
  cancel: 'denied',
  review: 'denied',
}

describe('a viewer of tasks', () => {
  test('a viewer reads every task and can act on none, not even on a missing one', () => {
    const harness = aHarness()
    const { task_id: id } = harness.handOff(person, given('left'))
    expect(harness.tasks.readTask(viewer, id).task.id).toBe(id)
    expect(triesOf(harness, viewer, { taskId: id, assignee: 'left' })).toEqual(allDenied)
    expect(triesOf(harness, viewer, { taskId: 'task_none', assignee: 'left' })).toEqual(allDenied)
    expect(harness.taskTable.find(id)?.state).toBe('pending')
  })
})

/** A task of the member for a granted agent, which waited and can start now. */
function aWaiting(harness: LedgerHarness, personNow: (name: string) => readonly PersonNow[]): string {
  harness.identityEvents.personOf.subscribe(personNow)
  const first = harness.handOff(person, given('right')).task_id
  const second = harness.handOff(member, given('left', { needs: [first] }))
  expect(second.run_id).toBe('')
  const row = harness.taskTable.find(first)
  expect(row && harness.taskTable.replace(row, { ...row, state: 'done' })).toBe(true)
  return second.task_id
}

describe('a member with tasks', () => {
  test('a member cannot act on tasks of other agents, nor reroute own tasks to them', () => {
    const harness = aHarness()
    const theirs = harness.handOff(person, given('right')).task_id
    expect(triesOf(harness, member, { taskId: theirs, assignee: 'right' })).toEqual(allDenied)
    const own = harness.handOff(member, given('left')).task_id
    const away = { taskId: own, action: 'reroute', note: '', to: 'right' } as const
    expect(codeOf(() => harness.tasks.manageTask(member, away))).toBe('denied')
    expect(harness.taskTable.find(own)?.assignee).toBe('left')
  })

  test('a member gives tasks to granted agents, and ends those that others gave them', () => {
    const harness = aHarness()
    const { task_id: id } = harness.handOff(person, given('left'))
    expect(harness.tasks.manageTask(member, { taskId: id, action: 'cancel', note: '' }).state).toBe(
      'cancelled',
    )
    const { task_id: own } = harness.handOff(member, given('left'))
    expect(harness.taskTable.find(own)).toMatchObject({ creator: 'human:ann@cli', state: 'pending' })
  })

  test("a waiting task of a member starts in the member's name", () => {
    const harness = aHarness()
    const second = aWaiting(harness, () => [{ role: 'member', agents: ['left'] }])
    harness.tasks.release()
    const runId = harness.taskTable.find(second)?.run_id ?? ''
    expect(harness.ledger.queries.find(runId)?.origin).toEqual({
      kind: 'human',
      channel: 'cli',
      role: 'member',
    })
    const submitted = harness.database
      .prepare("SELECT actor FROM journal WHERE action = 'run.submitted' AND subject = ?")
      .all(runId)
    expect(submitted).toEqual([{ actor: 'human:ann@cli' }])
  })

  test.each<[string, readonly PersonNow[], RegExp]>([
    ['gone', [], /ann.*was removed/],
    [
      'no longer granted the agent',
      [{ role: 'member', agents: ['right'] }],
      /left is not among the agents granted/,
    ],
    ['a viewer now', [{ role: 'viewer' }], /a viewer may read/],
  ])('a task of a member who is %s is blocked with the reason', (_what, now, why) => {
    const harness = aHarness()
    const task = aWaiting(harness, (name) => (name === 'ann' ? now : []))
    harness.tasks.release()
    const row = harness.taskTable.find(task)
    expect(row).toMatchObject({ state: 'blocked', blocked_by: 'infrastructure', run_id: null })
    expect(row?.summary).toMatch(why)
    expect(harness.tasks.readTask(person, task).history.at(-1)?.words).toMatch(why)
  })

  test('a task waits while its creator cannot be determined', () => {
    const harness = aHarness()
    let isBroken = true
    const task = aWaiting(harness, () => {
      if (isBroken) throw new Problem('unprocessable', { detail: 'the file is broken' })
      return [{ role: 'member', agents: ['left'] }]
    })
    harness.tasks.release()
    expect(harness.taskTable.find(task)).toMatchObject({ state: 'pending', run_id: null })
    isBroken = false
    harness.tasks.release()
    expect(harness.taskTable.find(task)?.run_id).not.toBeNull()
  })
})

test("a task of the unnamed owner starts as the owner's", () => {
  const harness = aHarness()
  const first = harness.handOff(person, given('right')).task_id
  const second = harness.handOff(person, given('left', { needs: [first] })).task_id
  const row = harness.taskTable.find(first)
  if (row) harness.taskTable.replace(row, { ...row, state: 'done' })
  harness.tasks.release()
  expect(harness.taskTable.find(second)?.run_id).not.toBeNull()
})

test('a task from a person to an agent in quarantine waits in its lane, and a question does not', () => {
  const harness = aHarness({
    requireAgent: (_agentId, asker) => {
      if (asker === 'waits') throw new Problem('agent-quarantined')
    },
  })
  expect(codeOf(() => harness.chat('left'))).toBe('agent-quarantined')
  const { run_id: runId } = harness.handOff(person, given('left'))
  expect(harness.ledger.queries.find(runId)?.state).toBe('queued')
})
