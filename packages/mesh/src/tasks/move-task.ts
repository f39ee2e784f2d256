import type { Clock } from '@flotilla/protocol/clock'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { canMoveTask, isTaskOpen } from '@flotilla/protocol/task'
import type { TaskState } from '@flotilla/protocol/task'
import type { EventBus } from '../events/index.ts'
import type { Journal } from '../journal/index.ts'
import type { TellRun } from '../runs/index.ts'
import type { Database } from '../storage/index.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

export interface TaskMove {
  readonly to: TaskState
  readonly actor: string
  /** Null keeps what stands there. */
  readonly summary: string | null
  readonly result: JsonValue
  readonly tell: TellRun
}

/** The task in its new state, or null where `taskTransitions` or the row does not allow it. */
export type MoveTask = (task: TaskRecord, move: TaskMove) => TaskRecord | null

/**
 * The one way in which a task changes its state. The run that gave it is told in the same transaction when it
 * ends or is blocked, once per such state.
 */
export function createMoveTask(deps: {
  readonly database: Database
  readonly table: TaskTable
  readonly events: EventBus
  readonly journal: Journal
  readonly clock: Clock
}): MoveTask {
  const { database, table, events, journal, clock } = deps

  return (task, { to, actor, summary, result, tell }) =>
    database.transaction(() => {
      if (!canMoveTask(task.state, to)) return null
      const now = clock.now()
      const next: TaskRecord = {
        ...task,
        state: to,
        summary: summary ?? task.summary,
        result: result ?? task.result,
        updated_at: now,
        completed_at: isTaskOpen(to) ? null : now,
      }
      if (!table.replace(task, next)) return null
      journal.append({ actor, action: `task.${to}`, subject: task.id, detail: { assignee: task.assignee } })
      announceTask(events, next)
      tellAsker(next, tell)
      return next
    })
}

export function announceTask(events: EventBus, task: TaskRecord): void {
  const { id: task_id, assignee, creator, title, state } = task
  events.publish({ type: 'task.changed', task_id, assignee, creator, title, state })
}

function tellAsker(task: TaskRecord, tell: TellRun): void {
  if (task.parent_run_id === null || (isTaskOpen(task.state) && task.state !== 'blocked')) return
  tell(task.parent_run_id, `task:${task.id}:${task.state}`, {
    kind: 'task-result',
    taskId: task.id,
    title: task.title,
    assignee: task.assignee,
    state: task.state,
    summary: task.summary ?? '',
    result: task.result,
  })
}
