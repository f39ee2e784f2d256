import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Action } from '../../../identity/src/access/action.ts'
import { authorize } from '../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { workerDefaultRecord } from '../../../identity/src/access/default-records.ts'
import { aLedgerHarness } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'

const work = { title: 'count', description: 'all of them', data: {} }
const records = new Map<string, PermissionRecord>()
const given = (agentId: string, more: Partial<PermissionRecord> = {}) =>
  records.set(agentId, { ...workerDefaultRecord, can_message: [], ...more })

/** A worker that may spawn agents and has no other permissions has spawned two. The first has asked it a question. */
async function aQuestion() {
  records.clear()
  given('boss', { can_spawn: true })
  for (const id of ['spawn_1', 'spawn_2']) given(id)
  const snapshot = { recordOf: (agentId: string) => records.get(agentId), broken: null }
  const decide = (caller: Caller, action: Action) => authorize(snapshot, caller, action)
  const guard = (caller: Caller, action: Action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const harness = aLedgerHarness({ guard, decide })
  onTestFinished(() => harness.ledger.close())
  harness.identityEvents.makersOf.subscribe((agentId) => (agentId.startsWith('spawn_') ? ['boss'] : []))
  harness.workEvents.reasonsToGiveNoWork.subscribe((agentId) =>
    agentId.startsWith('spawn_') ? [`${agentId} was spawned for one task`] : [],
  )
  harness.ledger.start()
  await harness.clock.settle()
  harness.chat('boss')
  await harness.clock.settle()
  const tasks = ['spawn_1', 'spawn_2'].map((to) =>
    harness.tasks.giveTask(harness.callerOf('boss'), { to, ...work, spawned: true }),
  )
  await harness.clock.settle()
  const taskId = tasks[0]?.task_id ?? ''
  harness.tasks.updateTask(harness.callerOf('spawn_1'), { taskId, action: 'block', note: 'which folder?' })
  harness.agents.finish('spawn_1')
  await harness.clock.settle()
  return { harness, taskId, task: () => harness.taskTable.find(taskId) }
}

const answer = (harness: LedgerHarness, agentId: string, taskId: string) =>
  harness.tasks.manageTask(harness.callerOf(agentId), { taskId, action: 'answer', note: 'the second' })

describe('the question of a spawned agent', () => {
  test('the spawning agent answers the question without permissions to message or route others', async () => {
    const { harness, taskId, task } = await aQuestion()
    expect(task()).toMatchObject({ state: 'blocked', blocked_by: 'question' })
    expect(answer(harness, 'boss', taskId)).toMatchObject({ state: 'pending', round: 1 })
    await harness.clock.settle()
    expect(task()).toMatchObject({ state: 'working', assignee: 'spawn_1' })
    expect(harness.workOf(taskId)?.answer).toEqual({ by: 'agent:boss', text: 'the second' })
    const said = { taskId, status: 'done', summary: 'seven', result: null } as const
    expect(harness.completeTask(harness.callerOf('spawn_1'), said).state).toBe('done')
  })

  test.each<[string, string, () => unknown, string]>([
    ['a sibling', 'spawn_2', () => undefined, 'not-found'],
    ['the asking agent', 'spawn_1', () => undefined, 'denied'],
    ['an unrelated agent', 'stranger', () => given('stranger'), 'not-found'],
    [
      'an unrelated agent that may spawn and message all',
      'stranger',
      () => given('stranger', { can_spawn: true, can_message: ['*'] }),
      'not-found',
    ],
    [
      'a router that may not message it',
      'stranger',
      () => given('stranger', { can_route_tasks: true, can_spawn: true }),
      'denied',
    ],
    [
      'the spawning agent after it lost the permission',
      'boss',
      () => given('boss', { can_message: ['*'] }),
      'denied',
    ],
  ])('the question of a spawned agent cannot be answered by %s', async (...[, agentId, prepare, code]) => {
    const { harness, taskId, task } = await aQuestion()
    prepare()
    const caller: Caller = {
      kind: 'agent',
      agentId,
      token: 'door',
      run: harness.ledger.lifecycle.live.liveRunOf(agentId),
    }
    const asked = () => harness.tasks.manageTask(caller, { taskId, action: 'answer', note: 'lies' })
    expect(asked).toThrow(expect.objectContaining({ code }))
    expect(task()).toMatchObject({ state: 'blocked', round: 0 })
  })

  test('answering a question does not allow giving other work', async () => {
    const { harness, taskId } = await aQuestion()
    const boss = harness.callerOf('boss')
    expect(() => harness.tasks.giveTask(boss, { to: 'spawn_1', ...work })).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    )
    expect(() => harness.tasks.handOff(boss, { to: 'spawn_1', ...work })).toThrow(
      expect.objectContaining({ code: 'denied' }),
    )
    for (const action of ['retry', 'reroute'] as const)
      expect(() => harness.tasks.manageTask(boss, { taskId, action, note: '', to: 'spawn_2' })).toThrow(
        expect.objectContaining({ code: 'denied' }),
      )
    // The question is closed, so a second answer starts nothing.
    answer(harness, 'boss', taskId)
    expect(() => answer(harness, 'boss', taskId)).toThrow(expect.objectContaining({ code: 'conflict' }))
  })
})
