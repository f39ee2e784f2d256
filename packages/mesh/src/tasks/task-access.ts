import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller, Decision, Guard } from '../access/index.ts'
import type { Hooks } from '../kernel/index.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

/** Who may see and move which task. What a caller may not see is as if it did not exist. */
export interface TaskAccess {
  /** Problem `not-found`. */
  requireSeen(caller: Caller, taskId: string): TaskRecord
  /** Before anything else: whether the caller may act on tasks at all. Problem `denied`. */
  requireActing(caller: Caller): void
  /** For what whoever gave it may do, and whoever routes tasks. Problems `not-found`, `denied`. */
  requireGiver(caller: Caller, taskId: string): TaskRecord
  /** For what needs `can_route_tasks`, whosever the task is. Problems `not-found`, `denied`. */
  requireRouter(caller: Caller, taskId: string): TaskRecord
}

export function createTaskAccess(deps: {
  readonly table: Pick<TaskTable, 'find'>
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly projectOf: (agentId: string) => string | null
  readonly hooks: Pick<Hooks, 'projectsSince'>
}): TaskAccess {
  const { table, guard, decide } = deps

  function sees(caller: Caller, task: TaskRecord): boolean {
    if (caller.kind !== 'agent') return true
    const { agentId } = caller
    if (task.assignee === agentId || task.creator === agentId) return true
    const own = deps.projectOf(agentId)
    if (task.project !== null && task.project === own && isOfItNow(task, own)) return true
    // Whoever looks at or routes work does so in its own project, or where there is none; the operator in all.
    if (agentId !== operatorAgentId && task.project !== null) return false
    return decide(caller, { do: 'view-fleet' }).allowed || decide(caller, { do: 'route-tasks' }).allowed
  }

  /** Tasks of a project that was deleted are not those of a new one that has its name. */
  function isOfItNow({ created_at: at }: TaskRecord, project: string): boolean {
    const since = deps.hooks.projectsSince.ask(project)[0]
    return since === undefined || at >= since
  }

  function requireSeen(caller: Caller, taskId: string): TaskRecord {
    guard(
      caller,
      caller.kind === 'agent' ? { do: 'act-for-self', agentId: caller.agentId } : { do: 'view-fleet' },
    )
    const task = table.find(taskId)
    if (!task || !sees(caller, task)) throw new Problem('not-found', { detail: 'there is no such task' })
    return task
  }

  /** A member acts on tasks of the agents that it is granted. */
  function requireReach(caller: Caller, { assignee }: TaskRecord): void {
    if (caller.kind !== 'agent') guard(caller, { do: 'submit-run', to: assignee })
  }

  return {
    requireSeen,
    requireActing: (caller) =>
      guard(
        caller,
        caller.kind === 'agent' ? { do: 'act-for-self', agentId: caller.agentId } : { do: 'route-tasks' },
      ),
    requireGiver: (caller, taskId) => {
      const task = requireSeen(caller, taskId)
      if (caller.kind !== 'agent' || task.creator !== caller.agentId) guard(caller, { do: 'route-tasks' })
      requireReach(caller, task)
      return task
    },
    requireRouter: (caller, taskId) => {
      const task = requireSeen(caller, taskId)
      guard(caller, { do: 'route-tasks' })
      requireReach(caller, task)
      return task
    },
  }
}
