import { expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import { createListStaleTasks } from './list-tasks.ts'

const hourMs = 3600 * 1000

test('stale tasks are open tasks without a change for a time, the longest first', async () => {
  const harness = aLedgerHarness()
  const give = (to: string, title: string) =>
    harness.handOff(person, { to, title, description: '', data: {} }).task_id
  const list = createListStaleTasks({ table: harness.taskTable, guard: () => {}, clock: harness.clock })
  const first = give('a', 'one')
  await harness.clock.leap(3 * hourMs)
  const second = give('b', 'two')
  await harness.clock.leap(2 * hourMs)
  const ids = (page: { hours: number; agentId?: string; limit: number }) =>
    list(person, page).map((task) => task.id)
  expect(ids({ hours: 6, limit: 10 })).toEqual([])
  expect(ids({ hours: 4, limit: 10 })).toEqual([first])
  expect(ids({ hours: 1, limit: 10 })).toEqual([first, second])
  expect(ids({ hours: 1, limit: 1 })).toEqual([first])
  expect(ids({ hours: 1, agentId: 'b', limit: 10 })).toEqual([second])
  const task = harness.taskTable.find(first)
  if (task) harness.taskTable.replace(task, { ...task, state: 'done', updated_at: 0 })
  expect(ids({ hours: 1, limit: 10 })).toEqual([second])
})

test('stale tasks are visible to callers who may view the fleet', () => {
  const harness = aLedgerHarness()
  const guard = () => {
    throw new Problem('denied')
  }
  const list = createListStaleTasks({ table: harness.taskTable, guard, clock: harness.clock })
  expect(() => list(person, { hours: 1, limit: 1 })).toThrow(expect.objectContaining({ code: 'denied' }))
})
