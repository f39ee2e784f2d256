import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { Hooks } from '@flotilla/identity/kernel'
import type { TaskRecord, TaskTable } from './task-table.ts'

/** Permissions for tasks. Tasks that a caller may not see are reported as not found. */
export interface TaskAccess {
  /** Throws Problem `not-found`. */
  requireSeen(caller: Caller, taskId: string): TaskRecord
  /** Must be called first: checks whether the caller may act on tasks at all. Throws Problem `denied`. */
  requireActing(caller: Caller): void
  /** For actions of the creator and of callers that route tasks. Throws the Problems `not-found` and `denied`. */
  requireGiver(caller: Caller, taskId: string): TaskRecord
  /** For actions that need `can_route_tasks` on any task. Throws the Problems `not-found` and `denied`. */
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
    // An agent that views or routes tasks does so in its own project or outside of projects; the operator does so
    // everywhere.
    if (agentId !== operatorAgentId && task.project !== null) return false
    return decide(caller, { do: 'view-fleet' }).allowed || decide(caller, { do: 'route-tasks' }).allowed
  }

  /** Tasks of a deleted project do not belong to a new project with its name. */
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
    if (!task || !sees(caller, task))
      throw new Problem('not-found', { detail: 'no task has this id, or you may not see it' })
    return task
  }

  /** A member acts only on tasks of granted agents. */
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
