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
  /** The call was not made after all. */
  refused(taskId: string | null): void
  /** The call is included in the sums; in the transaction that adds it. */
  written(taskId: string | null): void
}

export function createTaskCalls(deps: {
  readonly database: Database
  readonly spend: SpendTable
  readonly budgetOf: BudgetOf
  /** The limit set by the giver of the task; null without one. */
  readonly turnsOf?: (taskId: string) => number | null
  /** Calls of the tasks that it goes on from: its caps are theirs. */
  readonly callsBefore?: (taskId: string) => number
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
      const caps = [deps.budgetOf(agentId).task?.max_calls, deps.turnsOf?.(taskId)].filter(
        (cap) => cap !== undefined && cap !== null,
      )
      if (caps.length === 0) return
      const max = Math.min(...caps)
      const before = deps.callsBefore?.(taskId) ?? 0
      const made = before + deps.spend.total(taskScope(taskId), '').calls + (unwritten.get(taskId) ?? 0)
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
