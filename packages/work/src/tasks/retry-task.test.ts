import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'

const work = { title: 'count licences', description: 'all of them', data: {} }
const retry = (harness: LedgerHarness, taskId: string) =>
  harness.tasks.manageTask(person, { taskId, action: 'retry', note: '' })
const problemOf = (act: () => unknown): Problem | null => {
  try {
    act()
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** A failed task with limits whose run has used a part of them. */
async function aFailedTask() {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  const tokenBudget = { max_cost_usd: 1, max_tokens: 1000 }
  const given = harness.handOff(person, { to: 'worker', ...work, tokenBudget, maxTurns: 7 })
  await harness.clock.settle()
  harness.ledger.lifecycle.addRunCost(given.run_id, { costUsd: 0.25, tokens: 400 })
  await fail(harness, given.task_id)
  return { harness, taskId: given.task_id }
}

async function fail(harness: LedgerHarness, taskId: string): Promise<void> {
  harness.completeTask(harness.callerOf('worker'), { taskId, status: 'failed', summary: 'no', result: null })
  harness.agents.finish('worker')
  await harness.clock.settle()
}

const countOfTasks = (harness: LedgerHarness) =>
  harness.database.prepare('SELECT count(*) AS count FROM tasks').get()?.['count']

describe('a failed task', () => {
  test('a failed task is repeated once, and then its successor is repeated', async () => {
    const { harness, taskId } = await aFailedTask()
    const second = retry(harness, taskId)
    await harness.clock.settle()
    const again = problemOf(() => retry(harness, taskId))
    expect(again).toMatchObject({ code: 'conflict' })
    expect(again?.detail).toContain(`${second.id}, which is working`)
    await fail(harness, second.id)
    expect(problemOf(() => retry(harness, taskId))?.detail).toContain(`${second.id}, which is failed`)
    const third = retry(harness, second.id)
    await harness.clock.settle()
    // Each task of the chain refers to the last one.
    expect(problemOf(() => retry(harness, taskId))?.detail).toContain(third.id)
    expect(problemOf(() => retry(harness, second.id))?.detail).toContain(third.id)
    expect(countOfTasks(harness)).toBe(3)
  })

  test('a failed task that was retried cannot be repeated by a review, and keeps no review', async () => {
    const { harness, taskId } = await aFailedTask()
    retry(harness, taskId)
    const said = { taskId, outcome: 'rework', comment: 'once more' } as const
    expect(problemOf(() => harness.tasks.reviewTask(person, said))?.code).toBe('conflict')
    expect(harness.taskTable.find(taskId)?.outcome).toBeNull()
    expect(countOfTasks(harness)).toBe(2)
  })

  test('the limits of a failed task apply to all its successors', async () => {
    const { harness, taskId } = await aFailedTask()
    harness.workEvents.callsOfTask.subscribe((id) => (id === taskId ? [3] : [2]))
    const second = retry(harness, taskId)
    await harness.clock.settle()
    const run = harness.ledger.queries.find(second.run_id ?? '')
    expect(run).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    expect(harness.tasks.capsOf(second.id)).toMatchObject({ maxTurns: 7, callsBefore: 3 })
    harness.ledger.lifecycle.addRunCost(run?.id ?? '', { costUsd: 0.5, tokens: 500 })
    await fail(harness, second.id)
    const third = retry(harness, second.id)
    expect(harness.ledger.queries.find(third.run_id ?? '')).toMatchObject({
      budgetUsd: 0.25,
      budgetTokens: 100,
    })
    expect(harness.tasks.capsOf(third.id)).toMatchObject({ callsBefore: 5 })
  })

  test('the limits of a failed task apply to its reworks too', async () => {
    const { harness, taskId } = await aFailedTask()
    harness.workEvents.callsOfTask.subscribe((id) => (id === taskId ? [3] : [2]))
    const said = { outcome: 'rework', comment: 'once more' } as const
    const { rework } = harness.tasks.reviewTask(person, { taskId, ...said })
    await harness.clock.settle()
    const run = harness.ledger.queries.find(rework?.run_id ?? '')
    expect(run).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    expect(harness.tasks.capsOf(rework?.id ?? '')).toMatchObject({ maxTurns: 7, callsBefore: 3 })
    harness.ledger.lifecycle.addRunCost(run?.id ?? '', { costUsd: 0.5, tokens: 500 })
    await fail(harness, rework?.id ?? '')
    const again = harness.tasks.reviewTask(person, { taskId: rework?.id ?? '', ...said }).rework
    expect(harness.ledger.queries.find(again?.run_id ?? '')).toMatchObject({
      budgetUsd: 0.25,
      budgetTokens: 100,
    })
    expect(harness.tasks.capsOf(again?.id ?? '')).toMatchObject({ callsBefore: 5 })
  })

  test('a failed task is not retried if too many tasks wait', async () => {
    const { harness, taskId } = await aFailedTask()
    const first = harness.handOff(person, { to: 'other', ...work }).task_id
    for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) {
      harness.tasks.handOff(person, { to: 'worker', ...work, needs: [first] })
    }
    const row = harness.taskTable.find(taskId)
    if (row) harness.taskTable.replace(row, { ...row, needs: [first] })
    expect(problemOf(() => retry(harness, taskId))).toMatchObject({ code: 'unprocessable' })
  })
})

test('a task for an agent that accepts only its own work is rejected at once, whatever it waits for', async () => {
  const { harness, taskId } = await aFailedTask()
  harness.workEvents.reasonsToGiveNoWork.subscribe((id) =>
    id === 'spawn_1' ? ['spawn_1 was spawned for one task'] : [],
  )
  const first = harness.handOff(person, { to: 'other', ...work }).task_id
  const before = Number(countOfTasks(harness))
  const give = () => harness.tasks.handOff(person, { to: 'spawn_1', ...work, needs: [first] })
  expect(problemOf(give)).toMatchObject({ code: 'conflict', detail: 'spawn_1 was spawned for one task' })
  const waiting = harness.tasks.handOff(person, { to: 'third', ...work, needs: [first] }).task_id
  const reroute = () =>
    harness.tasks.manageTask(person, { taskId: waiting, action: 'reroute', note: '', to: 'spawn_1' })
  expect(problemOf(reroute)?.code).toBe('conflict')
  expect(countOfTasks(harness)).toBe(before + 1)
  expect(harness.taskTable.find(waiting)?.assignee).toBe('third')
  expect(retry(harness, taskId).assignee).toBe('worker')
})

test('a task is not rerouted to an agent with too many waiting tasks, and may keep waiting', async () => {
  const { harness } = await aFailedTask()
  const first = harness.handOff(person, { to: 'other', ...work }).task_id
  const give = (to: string) => harness.tasks.handOff(person, { to, ...work, needs: [first] }).task_id
  const mine = give('third')
  for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) give('worker')
  const to = (taskId: string, agentId: string) => () =>
    harness.tasks.manageTask(person, { taskId, action: 'reroute', note: '', to: agentId })
  expect(problemOf(to(mine, 'worker'))?.code).toBe('unprocessable')
  expect(harness.taskTable.find(mine)).toMatchObject({ assignee: 'third', round: 0 })
  expect(problemOf(to(mine, 'fourth'))).toBeNull()
})
