import { heartbeatSession } from '@flotilla/protocol/heartbeat-reply'
import { wireLimits } from '@flotilla/protocol/limits'
import type { TaskAssignment, TaskTurn, TokenBudget } from '@flotilla/protocol/task'
import type { RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'
import type { RunTasks } from './run-tasks.ts'

/** How long an agent may work on one turn, seconds; it is told, and the ledger enforces it a little later. */
export const turnTimeoutSeconds = 4 * 3600

/** The conversation that a run speaks in; every turn of it, and every attempt, speaks in the same. */
export function sessionOf(run: RunRecord): string {
  switch (run.input.kind) {
    case 'chat':
      return run.input.session
    case 'task':
      return `task:${run.input.task_id}`
    case 'heartbeat':
      return heartbeatSession
    case 'tool':
      return `tool:${run.id}`
  }
}

/** What the assignee gets; null when the task is gone. `context.session` names where later turns will speak. */
export function taskAssignment(run: RunRecord, tasks: RunTasks): TaskAssignment | null {
  if (run.input.kind !== 'task') return null
  const work = tasks.work(run.input.task_id)
  if (!work) return null
  return {
    task_id: run.input.task_id,
    run_id: run.id,
    fence: run.fence,
    task_type: 'hand_off',
    input_data: work.inputData,
    context: { ...work.context, session: sessionOf(run) },
    timeout_s: turnTimeoutSeconds,
    max_retries: wireLimits.runAttemptsMax - 1,
    token_budget: budgetOf(run),
  }
}

/** What a later turn of a task is told of it, so that it keeps to the bounds of the whole task. */
export function taskBeside(table: Pick<RunTable, 'usedBy'>, run: RunRecord): { readonly task?: TaskTurn } {
  if (run.input.kind !== 'task') return {}
  const { tokens, costUsd } = table.usedBy(run.id)
  const task = {
    task_id: run.input.task_id,
    token_budget: budgetOf(run),
    tokens_used: tokens,
    cost_usd: costUsd,
  }
  return { task }
}

/** What the agent is told of its caps; the model door holds it to them, in every turn. */
function budgetOf({ budgetTokens, budgetUsd }: RunRecord): TokenBudget | null {
  if (budgetTokens === null && budgetUsd === null) return null
  return { max_tokens: budgetTokens, max_cost_usd: budgetUsd }
}
