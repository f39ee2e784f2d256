import { expect, test } from 'vitest'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createSpendTable } from './spend-table.ts'
import { createTaskCalls } from './task-calls.ts'

test.each([
  { fleet: 200, own: 2, asked: 2 },
  { fleet: 2, own: 200, asked: 2 },
  { fleet: 3, own: null, asked: 3 },
  { fleet: 9, own: 7, before: 5, asked: 2 },
])(
  'a task makes as many calls as the lower of the caps allows: $fleet and $own',
  ({ fleet, own, before = 0, asked }) => {
    const database = migrated()
    const calls = createTaskCalls({
      database,
      spend: createSpendTable(database),
      budgetOf: () => ({ daily_usd: 1, monthly_usd: 1, task: { max_usd: 1, max_calls: fleet } }),
      turnsOf: (taskId) => (taskId === 'task_1' ? own : null),
      callsBefore: () => before,
    })
    const account = {
      agentId: 'scout',
      run: { runId: 'run_1', budgetUsd: null, taskId: 'task_1' },
    }
    for (let count = 0; count < asked; count++) {
      calls.refuseOverCap(account)
      calls.began('task_1')
    }
    expect(() => calls.refuseOverCap(account)).toThrow(
      expect.objectContaining({
        code: 'budget-exhausted',
        extra: expect.objectContaining({ limit_calls: asked + before }),
      }),
    )
  },
)
