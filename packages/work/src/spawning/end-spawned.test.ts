import { expect, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createTaskStore } from '../tasks/task-store.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import { createEndSpawned } from './end-spawned.ts'
import { createSpawnedTable } from './spawned-table.ts'

/** A spawned agent that has reached its end, with a task of its own. */
function anEnding() {
  const harness = aLedgerHarness()
  const table = createSpawnedTable(harness.database)
  const now = harness.clock.now()
  const { task_id: taskId, run_id: runId } = harness.handOff(person, {
    to: 'spawn_1',
    title: 'Count',
    description: '',
    data: {},
  })
  table.insert({
    agentId: 'spawn_1',
    parentId: 'boss',
    depth: 1,
    runId: null,
    taskId: null,
    state: 'making',
    reason: '',
    createdAt: now,
    endsAt: now,
  })
  table.lives('spawn_1', { runId, taskId })
  const stop = new AbortController()
  const ends = createEndSpawned({
    ...harness,
    log: silentLog,
    table,
    runs: harness.runs,
    tasks: createTaskStore(harness),
    agents: {
      shortLived: {
        make: () => Promise.reject(new Error('nothing is made here')),
        remove: async () => stop.abort(),
      },
    },
  })
  return { harness, taskId, end: async () => ends.run(stop.signal).then(() => harness.ledger.close()) }
}

test('a spawned agent that ends cancels its open task', async () => {
  const { harness, taskId, end } = anEnding()
  await end()
  expect(harness.taskTable.find(taskId)?.state).toBe('cancelled')
})

test('a task that was given to another agent continues', async () => {
  const { harness, taskId, end } = anEnding()
  harness.tasks.manageTask(person, { taskId, action: 'reroute', note: '', to: 'left' })
  await end()
  expect(harness.taskTable.find(taskId)).toMatchObject({ state: 'pending', assignee: 'left' })
})
