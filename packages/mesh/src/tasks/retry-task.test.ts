import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import { afterEach, describe, expect, test } from 'vitest'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import type { LedgerHarness } from '../testing/ledger-harness.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

const work = { title: 'count licences', description: 'all of them', data: {} }
const retry = (world: LedgerHarness, taskId: string) =>
  world.tasks.manageTask(person, { taskId, action: 'retry', note: '' })
const problemOf = (act: () => unknown): Problem | null => {
  try {
    act()
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** A task of the worker with caps, which has failed; its run has used some of them. */
async function aFailedTask() {
  const world = aLedgerHarness()
  opened.push(world)
  world.ledger.start()
  await world.clock.settle()
  const tokenBudget = { max_cost_usd: 1, max_tokens: 1000 }
  const given = world.handOff(person, { to: 'worker', ...work, tokenBudget, maxTurns: 7 })
  await world.clock.settle()
  world.ledger.lifecycle.addRunCost(given.run_id, 0.25, 400)
  await fail(world, given.task_id)
  return { world, taskId: given.task_id }
}

async function fail(world: LedgerHarness, taskId: string): Promise<void> {
  world.completeTask(world.callerOf('worker'), { taskId, status: 'failed', summary: 'no', result: null })
  world.agents.finish('worker')
  await world.clock.settle()
}

const countOfTasks = (world: LedgerHarness) =>
  world.database.prepare('SELECT count(*) AS count FROM tasks').get()?.['count']

describe('a failed task', () => {
  test('is given anew once, and then goes on from the last', async () => {
    const { world, taskId } = await aFailedTask()
    const second = retry(world, taskId)
    await world.clock.settle()
    const again = problemOf(() => retry(world, taskId))
    expect(again).toMatchObject({ code: 'conflict' })
    expect(again?.detail).toContain(`${second.id}, which is working`)
    await fail(world, second.id)
    expect(problemOf(() => retry(world, taskId))?.detail).toContain(`${second.id}, which is failed`)
    const third = retry(world, second.id)
    await world.clock.settle()
    // Whichever of the chain is named, the answer is its last.
    expect(problemOf(() => retry(world, taskId))?.detail).toContain(third.id)
    expect(problemOf(() => retry(world, second.id))?.detail).toContain(third.id)
    expect(countOfTasks(world)).toBe(3)
  })

  test('is not done again by a review beside its retry, and stays without that verdict', async () => {
    const { world, taskId } = await aFailedTask()
    retry(world, taskId)
    const said = { taskId, outcome: 'rework', comment: 'once more' } as const
    expect(problemOf(() => world.tasks.reviewTask(person, said))?.code).toBe('conflict')
    expect(world.taskTable.find(taskId)?.outcome).toBeNull()
    expect(countOfTasks(world)).toBe(2)
  })

  test('is held to its caps over all that were made of it', async () => {
    const { world, taskId } = await aFailedTask()
    world.hooks.callsOfTask.subscribe((id) => (id === taskId ? [3] : [2]))
    const second = retry(world, taskId)
    await world.clock.settle()
    const run = world.ledger.queries.find(second.run_id ?? '')
    expect(run).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    expect(world.tasks.capsOf(second.id)).toMatchObject({ maxTurns: 7, callsBefore: 3 })
    world.ledger.lifecycle.addRunCost(run?.id ?? '', 0.5, 500)
    await fail(world, second.id)
    const third = retry(world, second.id)
    expect(world.ledger.queries.find(third.run_id ?? '')).toMatchObject({
      budgetUsd: 0.25,
      budgetTokens: 100,
    })
    expect(world.tasks.capsOf(third.id)).toMatchObject({ callsBefore: 5 })
  })

  test('is held to its caps over its reworks too', async () => {
    const { world, taskId } = await aFailedTask()
    world.hooks.callsOfTask.subscribe((id) => (id === taskId ? [3] : [2]))
    const said = { outcome: 'rework', comment: 'once more' } as const
    const { rework } = world.tasks.reviewTask(person, { taskId, ...said })
    await world.clock.settle()
    const run = world.ledger.queries.find(rework?.run_id ?? '')
    expect(run).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    expect(world.tasks.capsOf(rework?.id ?? '')).toMatchObject({ maxTurns: 7, callsBefore: 3 })
    world.ledger.lifecycle.addRunCost(run?.id ?? '', 0.5, 500)
    await fail(world, rework?.id ?? '')
    const again = world.tasks.reviewTask(person, { taskId: rework?.id ?? '', ...said }).rework
    expect(world.ledger.queries.find(again?.run_id ?? '')).toMatchObject({
      budgetUsd: 0.25,
      budgetTokens: 100,
    })
    expect(world.tasks.capsOf(again?.id ?? '')).toMatchObject({ callsBefore: 5 })
  })

  test('is not tried again where too many wait already', async () => {
    const { world, taskId } = await aFailedTask()
    const first = world.handOff(person, { to: 'other', ...work }).task_id
    for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) {
      world.tasks.handOff(person, { to: 'worker', ...work, needs: [first] })
    }
    const row = world.taskTable.find(taskId)
    if (row) world.taskTable.replace(row, { ...row, needs: [first] })
    expect(problemOf(() => retry(world, taskId))).toMatchObject({ code: 'unprocessable' })
  })
})

test('an agent that is given no work but its own is refused at once, whatever the task waits for', async () => {
  const { world, taskId } = await aFailedTask()
  world.hooks.reasonsToGiveNoWork.subscribe((id) =>
    id === 'spawn_1' ? ['spawn_1 was made for one task'] : [],
  )
  const first = world.handOff(person, { to: 'other', ...work }).task_id
  const before = Number(countOfTasks(world))
  const give = () => world.tasks.handOff(person, { to: 'spawn_1', ...work, needs: [first] })
  expect(problemOf(give)).toMatchObject({ code: 'conflict', detail: 'spawn_1 was made for one task' })
  const waiting = world.tasks.handOff(person, { to: 'third', ...work, needs: [first] }).task_id
  const reroute = () =>
    world.tasks.manageTask(person, { taskId: waiting, action: 'reroute', note: '', to: 'spawn_1' })
  expect(problemOf(reroute)?.code).toBe('conflict')
  expect(countOfTasks(world)).toBe(before + 1)
  expect(world.taskTable.find(waiting)?.assignee).toBe('third')
  expect(retry(world, taskId).assignee).toBe('worker')
})

test('a task goes to no other agent for which too many wait already, and may wait on where it does', async () => {
  const { world } = await aFailedTask()
  const first = world.handOff(person, { to: 'other', ...work }).task_id
  const give = (to: string) => world.tasks.handOff(person, { to, ...work, needs: [first] }).task_id
  const mine = give('third')
  for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) give('worker')
  const to = (taskId: string, agentId: string) => () =>
    world.tasks.manageTask(person, { taskId, action: 'reroute', note: '', to: agentId })
  expect(problemOf(to(mine, 'worker'))?.code).toBe('unprocessable')
  expect(world.taskTable.find(mine)).toMatchObject({ assignee: 'third', round: 0 })
  expect(problemOf(to(mine, 'fourth'))).toBeNull()
})
