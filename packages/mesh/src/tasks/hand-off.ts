import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { TaskState, TokenBudget } from '@flotilla/protocol/task'
import type { EventBus } from '../events/index.ts'
import type { Caller, Guard } from '../access/index.ts'
import { actorOf } from '../access/index.ts'
import type { Ledger, RunRecord } from '../runs/index.ts'
import type { Database } from '../storage/index.ts'
import { announceTask } from './move-task.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

export interface HandOffInput {
  readonly to: string
  readonly title: string
  readonly description: string
  readonly data: JsonObject
  /** What the assignee may use; a cap of the run that asks holds for it too, whichever is lower. */
  readonly tokenBudget?: TokenBudget | null
  readonly idempotencyKey?: string | null | undefined
}

export interface HandOffReply {
  readonly task_id: string
  readonly run_id: string
  readonly state: TaskState
}

/**
 * Gives a task to another agent and never waits: task and run are rows of one transaction. Problems: `denied`,
 * `stale-fence`, `hand-off-refused` for a loop or a depth over 8, and those of `submitRun`.
 */
export type HandOff = (caller: Caller, input: HandOffInput) => HandOffReply

export function createHandOff(deps: {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'submitRun' | 'live' | 'chainOf'>
  readonly table: TaskTable
  readonly events: EventBus
  readonly guard: Guard
  readonly clock: Clock
  readonly newId: NewId
}): HandOff {
  const { database, ledger, table, events, guard, clock, newId } = deps
  return (caller, input) => {
    guard(caller, { do: 'route-tasks' })
    guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to: input.to })
    return database.transaction(() => {
      const chain = askingChain(ledger, caller)
      const taskId = newId('task')
      const run = ledger.submitRun(caller, {
        agentId: input.to,
        input: { kind: 'task', task_id: taskId },
        idempotencyKey: input.idempotencyKey,
        parent: chain[0] ?? null,
        budgetUsd: input.tokenBudget?.max_cost_usd ?? null,
        budgetTokens: input.tokenBudget?.max_tokens ?? null,
      })
      if (run.taskId !== taskId) return repeated(table, run, input)
      refuseLoops(chain, input.to)
      const task = newTask(caller, input, { taskId, run, now: clock.now() })
      table.insert(task)
      announceTask(events, task)
      return { task_id: taskId, run_id: run.id, state: task.state }
    })
  }
}

/** The live run that asks, and those above it, nearest first; empty for people and the mesh. */
function askingChain(ledger: Pick<Ledger, 'live' | 'chainOf'>, caller: Caller): readonly RunRecord[] {
  if (caller.kind !== 'agent') return []
  if (!caller.run) throw new Problem('stale-fence', { detail: 'only a live run can hand off' })
  ledger.live.ticketOf(caller.run.runId, caller.run.fence)
  return ledger.chainOf(caller.run.runId)
}

function refuseLoops(chain: readonly RunRecord[], to: string): void {
  const asking = chain[0]
  if (!asking) return
  if (asking.depth + 1 > wireLimits.handOffDepthMax) {
    throw new Problem('hand-off-refused', {
      detail: `work may be handed on ${wireLimits.handOffDepthMax} times at most`,
    })
  }
  if (chain.some((run) => run.agentId === to)) {
    throw new Problem('hand-off-refused', { detail: `${to} waits for this work already` })
  }
}

/** The same key again: what was made the first time, as it is now. */
function repeated(table: TaskTable, run: RunRecord, input: HandOffInput): HandOffReply {
  const task = run.taskId === null ? null : table.find(run.taskId)
  if (!task || task.title !== input.title || task.description !== input.description) {
    throw new Problem('conflict', { detail: 'this idempotency key was used for another request' })
  }
  return { task_id: task.id, run_id: run.id, state: task.state }
}

function newTask(
  caller: Caller,
  input: HandOffInput,
  made: { readonly taskId: string; readonly run: RunRecord; readonly now: number },
): TaskRecord {
  return {
    id: made.taskId,
    creator: caller.kind === 'agent' ? caller.agentId : actorOf(caller),
    assignee: input.to,
    title: input.title,
    description: input.description,
    data: input.data,
    state: 'pending',
    parent_run_id: made.run.parentId,
    run_id: made.run.id,
    result: null,
    summary: null,
    created_at: made.now,
    updated_at: made.now,
    completed_at: null,
  }
}
