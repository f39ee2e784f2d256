import { expect, test } from 'vitest'
import { silentLog } from '../platform/log.ts'
import { createTaskStore } from '../tasks/task-store.ts'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import { createEndSpawned } from './end-spawned.ts'
import { createSpawnedTable } from './spawned-table.ts'

/** A spawned agent whose life is over, with a task of its own. */
function anEnding() {
  const world = aLedgerHarness()
  const table = createSpawnedTable(world.database)
  const now = world.clock.now()
  const { task_id: taskId, run_id: runId } = world.handOff(person, {
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
    ...world,
    log: silentLog,
    table,
    runs: world.runs,
    tasks: createTaskStore(world),
    agents: {
      shortLived: {
        make: () => Promise.reject(new Error('nothing is made here')),
        remove: async () => stop.abort(),
      },
    },
  })
  return { world, taskId, end: async () => ends.run(stop.signal).then(() => world.ledger.close()) }
}

test('an agent that ends takes its open task with it', async () => {
  const { world, taskId, end } = anEnding()
  await end()
  expect(world.taskTable.find(taskId)?.state).toBe('cancelled')
})

test('a task that was given to another meanwhile goes on', async () => {
  const { world, taskId, end } = anEnding()
  world.tasks.manageTask(person, { taskId, action: 'reroute', note: '', to: 'left' })
  await end()
  expect(world.taskTable.find(taskId)).toMatchObject({ state: 'pending', assignee: 'left' })
})
