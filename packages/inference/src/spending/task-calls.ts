import type { Database } from '@flotilla/foundation/storage'
import { callsExhausted } from './budget-limits.ts'
import type { BudgetAccount, BudgetOf } from './budget-limits.ts'
import { taskScope } from './sum-scopes.ts'
import type { SpendTable } from './spend-table.ts'

/**
 * How many model calls each task has made, over all runs that worked on it: written, finished and open calls. So a
 * task that loops ends, even if its calls cost nothing.
 */
export interface TaskCalls {
  /** Throws the Problem `budget-exhausted` if the task has made the maximum number of calls. */
  refuseOverCap(account: Pick<BudgetAccount, 'agentId' | 'run'>): void
  /** Counts a call that is about to be sent. */
  began(taskId: string | null): void
  /** Takes back a call that was not made after all. */
  refused(taskId: string | null): void
  /** Called when the stored sums include the call, in the transaction that adds the call to them. */
  written(taskId: string | null): void
}

export function createTaskCalls(deps: {
  readonly database: Database
  readonly spend: SpendTable
  readonly budgetOf: BudgetOf
  /** The limit set by the giver of the task; null without one. */
  readonly turnsOf?: (taskId: string) => number | null
  /** Calls of the earlier tasks that the task continues: they count against its caps. */
  readonly callsBefore?: (taskId: string) => number
}): TaskCalls {
  /** At most one entry per task with open calls. */
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
