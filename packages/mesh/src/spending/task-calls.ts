import type { Database } from '../storage/index.ts'
import { callsExhausted } from './budget-limits.ts'
import type { BudgetAccount, BudgetOf } from './budget-limits.ts'
import { taskScope } from './sum-scopes.ts'
import type { SpendTable } from './spend-table.ts'

/**
 * How many model calls each task has made, over all runs that worked on it: those in the sums, and those that are open
 * or not yet written. So a task that goes in circles ends, whatever its calls cost.
 */
export interface TaskCalls {
  /** Problem `budget-exhausted` when the task has made all its calls. */
  refuseOverCap(account: Pick<BudgetAccount, 'agentId' | 'run'>): void
  /** A call of the task leaves. */
  began(taskId: string | null): void
  /** It was not let go after all. */
  refused(taskId: string | null): void
  /** It stands in the sums now; in the transaction that puts it there. */
  written(taskId: string | null): void
}

export function createTaskCalls(deps: {
  readonly database: Database
  readonly spend: SpendTable
  readonly budgetOf: BudgetOf
}): TaskCalls {
  /** As many as tasks with open calls. */
  const unwritten = new Map<string, number>()

  function change(taskId: string | null, by: number): void {
    if (taskId === null) return
    const next = (unwritten.get(taskId) ?? 0) + by
    if (next > 0) unwritten.set(taskId, next)
    else unwritten.delete(taskId)
  }

  return {
    refuseOverCap({ agentId, run }) {
      const taskId = run?.taskId ?? null
      if (taskId === null) return
      const max = deps.budgetOf(agentId).task?.max_calls
      if (max === undefined) return
      const made = deps.spend.total(taskScope(taskId), '').calls + (unwritten.get(taskId) ?? 0)
      if (made >= max) throw callsExhausted(taskId, { max, made })
    },
    began: (taskId) => change(taskId, 1),
    refused: (taskId) => change(taskId, -1),
    written(taskId) {
      change(taskId, -1)
      deps.database.afterRollback(() => change(taskId, 1))
    },
  }
}
