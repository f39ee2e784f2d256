import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import type { Action, Caller, HumanCaller } from '../access/index.ts'
import { authorize } from '../access/index.ts'
import type { PersonNow } from '../kernel/index.ts'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../testing/ledger-harness.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

const records = { broken: null, recordOf: () => undefined }

/** People are decided on by the real rules; agents may all. */
function aHarness(options: LedgerHarnessOptions = {}): LedgerHarness {
  const world = aLedgerHarness({
    guard: (caller: Caller, action: Action) => {
      if (caller.kind === 'agent') return
      const decision = authorize(records, caller, action)
      if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
    },
    ...options,
  })
  opened.push(world)
  return world
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

/** What a person can do with a task, each as it would be refused or not. */
function triesOf(
  world: LedgerHarness,
  caller: Caller,
  { taskId, assignee }: { readonly taskId: string; readonly assignee: string },
) {
  const { tasks } = world
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

describe('a viewer', () => {
  test('reads every task and does nothing with one, also with one that is not there', () => {
    const world = aHarness()
    const { task_id: id } = world.handOff(person, given('left'))
    expect(world.tasks.readTask(viewer, id).task.id).toBe(id)
    expect(triesOf(world, viewer, { taskId: id, assignee: 'left' })).toEqual(allDenied)
    expect(triesOf(world, viewer, { taskId: 'task_none', assignee: 'left' })).toEqual(allDenied)
    expect(world.taskTable.find(id)?.state).toBe('pending')
  })
})

/** A task of the member's for an agent that it is granted, which waited and can begin now. */
function aWaiting(world: LedgerHarness, personNow: (name: string) => readonly PersonNow[]): string {
  world.hooks.personOf.subscribe(personNow)
  const first = world.handOff(person, given('right')).task_id
  const second = world.handOff(member, given('left', { needs: [first] }))
  expect(second.run_id).toBe('')
  const row = world.taskTable.find(first)
  expect(row && world.taskTable.replace(row, { ...row, state: 'done' })).toBe(true)
  return second.task_id
}

describe('a member', () => {
  test('does nothing with tasks of agents that it is not granted, nor gives one of its own away to them', () => {
    const world = aHarness()
    const theirs = world.handOff(person, given('right')).task_id
    expect(triesOf(world, member, { taskId: theirs, assignee: 'right' })).toEqual(allDenied)
    const own = world.handOff(member, given('left')).task_id
    const away = { taskId: own, action: 'reroute', note: '', to: 'right' } as const
    expect(codeOf(() => world.tasks.manageTask(member, away))).toBe('denied')
    expect(world.taskTable.find(own)?.assignee).toBe('left')
  })

  test('gives tasks to its agents, and ends those that others gave them', () => {
    const world = aHarness()
    const { task_id: id } = world.handOff(person, given('left'))
    expect(world.tasks.manageTask(member, { taskId: id, action: 'cancel', note: '' }).state).toBe('cancelled')
    const { task_id: own } = world.handOff(member, given('left'))
    expect(world.taskTable.find(own)).toMatchObject({ creator: 'human:ann@cli', state: 'pending' })
  })

  test('has a task that waited begun in its own name', () => {
    const world = aHarness()
    const second = aWaiting(world, () => [{ role: 'member', agents: ['left'] }])
    world.tasks.release()
    const runId = world.taskTable.find(second)?.run_id ?? ''
    expect(world.ledger.queries.find(runId)?.origin).toEqual({
      kind: 'human',
      channel: 'cli',
      role: 'member',
    })
    const submitted = world.database
      .prepare("SELECT actor FROM journal WHERE action = 'run.submitted' AND subject = ?")
      .all(runId)
    expect(submitted).toEqual([{ actor: 'human:ann@cli' }])
  })

  test.each<[string, readonly PersonNow[], RegExp]>([
    ['gone', [], /ann.*nobody/],
    ['no longer granted the agent', [{ role: 'member', agents: ['right'] }], /left is not granted/],
    ['a viewer by now', [{ role: 'viewer' }], /a viewer looks/],
  ])('who is %s has nothing begun: the task is blocked and says why', (_what, now, why) => {
    const world = aHarness()
    const task = aWaiting(world, (name) => (name === 'ann' ? now : []))
    world.tasks.release()
    const row = world.taskTable.find(task)
    expect(row).toMatchObject({ state: 'blocked', blocked_by: 'infrastructure', run_id: null })
    expect(row?.summary).toMatch(why)
    expect(world.tasks.readTask(person, task).history.at(-1)?.words).toMatch(why)
  })

  test('of whom nothing can be known now has the task wait', () => {
    const world = aHarness()
    let isBroken = true
    const task = aWaiting(world, () => {
      if (isBroken) throw new Problem('unprocessable', { detail: 'the file is broken' })
      return [{ role: 'member', agents: ['left'] }]
    })
    world.tasks.release()
    expect(world.taskTable.find(task)).toMatchObject({ state: 'pending', run_id: null })
    isBroken = false
    world.tasks.release()
    expect(world.taskTable.find(task)?.run_id).not.toBeNull()
  })
})

test('a task of the owner whom no file names begins as the owner’s', () => {
  const world = aHarness()
  const first = world.handOff(person, given('right')).task_id
  const second = world.handOff(person, given('left', { needs: [first] })).task_id
  const row = world.taskTable.find(first)
  if (row) world.taskTable.replace(row, { ...row, state: 'done' })
  world.tasks.release()
  expect(world.taskTable.find(second)?.run_id).not.toBeNull()
})

test('a task that a person gives to an agent in quarantine waits in its lane; a question does not', () => {
  const world = aHarness({
    requireAgent: (_agentId, asker) => {
      if (asker === 'waits') throw new Problem('agent-quarantined')
    },
  })
  expect(codeOf(() => world.chat('left'))).toBe('agent-quarantined')
  const { run_id: runId } = world.handOff(person, given('left'))
  expect(world.ledger.queries.find(runId)?.state).toBe('queued')
})
