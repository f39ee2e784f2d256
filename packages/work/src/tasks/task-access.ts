import { operatorAgentId } from '@flotilla/protocol/ids'
import { notFound } from '@flotilla/protocol/not-found'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { WorkEvents } from '../events/index.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

/** Permissions for tasks. Tasks that a caller may not see are reported as not found. */
export interface TaskAccess {
  /** Throws Problem `not-found`. */
  requireSeen(caller: Caller, taskId: string): TaskRecord
  /** Checks whether the caller may act on tasks at all; must be called first. Throws Problem `denied`. */
  requireActing(caller: Caller): void
  /** Returns a task for its creator or a caller that routes tasks. Throws the Problems `not-found` and `denied`. */
  requireGiver(caller: Caller, taskId: string): TaskRecord
  /** Returns a task for an action that needs `can_route_tasks`. Throws the Problems `not-found` and `denied`. */
  requireRouter(caller: Caller, taskId: string): TaskRecord
}

export function createTaskAccess(deps: {
  readonly table: Pick<TaskTable, 'find'>
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly projectOf: (agentId: string) => string | null
  readonly workEvents: Pick<WorkEvents, 'projectsSince'>
}): TaskAccess {
  const { table, guard, decide } = deps

  function sees(caller: Caller, task: TaskRecord): boolean {
    if (caller.kind !== 'agent') return true
    const { agentId } = caller
    if (task.assignee === agentId || task.creator === agentId) return true
    const own = deps.projectOf(agentId)
    if (task.project !== null && task.project === own && isOfItNow(task, own)) return true
    // An agent may view or route tasks only in its own project and outside of projects; the operator may do so
    // everywhere.
    if (agentId !== operatorAgentId && task.project !== null) return false
    return decide(caller, { do: 'view-fleet' }).allowed || decide(caller, { do: 'route-tasks' }).allowed
  }

  /** Returns false for a task of a deleted project, which does not belong to a new project with the same name. */
  function isOfItNow({ created_at: at }: TaskRecord, project: string): boolean {
    const since = deps.workEvents.projectsSince.ask(project)[0]
    return since === undefined || at >= since
  }

  function requireSeen(caller: Caller, taskId: string): TaskRecord {
    guard(
      caller,
      caller.kind === 'agent' ? { do: 'act-for-self', agentId: caller.agentId } : { do: 'view-fleet' },
    )
    const task = table.find(taskId)
    if (!task || !sees(caller, task)) throw notFound('task', 'no task has this id, or you may not see it')
    return task
  }

  /** Checks that a person may give work to the task's assignee: a member only to agents granted to them. */
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
