import type { Clock } from '@flotilla/protocol/clock'
import { isTaskOpen, mayAct, taskActions } from '@flotilla/protocol/task-actions'
import type { TaskActionName } from '@flotilla/protocol/task-actions'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { WorkEvents } from '../events/index.ts'
import type { NotifyRun } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import type { TaskHistory } from './task-history.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

export interface TaskMove {
  readonly action: TaskActionName
  readonly actor: string
  /** A text for the task's history. */
  readonly words: string
  /** Further changes to write to the task's row. */
  readonly changes?: Partial<TaskRecord>
  /** Notifies the run that waits for the task; null if no run waits. */
  readonly notify: NotifyRun | null
}

/** Changes the task and returns it; null if `taskActions` or the row does not allow the action. */
export type MoveTask = (task: TaskRecord, move: TaskMove) => TaskRecord | null

interface MoveTaskDeps {
  readonly database: Database
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly events: EventBus
  readonly journal: Journal
  readonly workEvents: Pick<WorkEvents, 'taskChanged'>
  readonly clock: Clock
}

/**
 * Creates the only function that changes the state of a task. If the task ends or is blocked, its creator's run is
 * notified in the same transaction, once per state and round, and so are other modules.
 */
export function createMoveTask(deps: MoveTaskDeps): MoveTask {
  const { database, table, clock } = deps
  return (task, { action, actor, words, changes = {}, notify }) =>
    database.transaction(() => {
      if (!mayAct(action, task.state)) return null
      const state = taskActions[action].to
      const now = clock.now()
      const next: TaskRecord = {
        ...task,
        ...changes,
        state,
        blocked_by: state === 'blocked' ? (changes.blocked_by ?? task.blocked_by) : null,
        updated_at: now,
        completed_at: isTaskOpen(state) ? null : now,
      }
      if (!table.replace(task, next)) return null
      record(deps, next, { action, actor, words })
      if (notify) notifyRequester(next, notify)
      const { id, assignee, creator, project } = next
      deps.workEvents.taskChanged.publish({ id, assignee, creator, project, state, before: task.state })
      return next
    })
}

/** Records a step of a task in its history and the audit log, and publishes an event. */
export function record(
  { history, journal, events }: Pick<MoveTaskDeps, 'history' | 'journal' | 'events'>,
  task: TaskRecord,
  { action, actor, words }: { readonly action: string; readonly actor: string; readonly words: string },
): void {
  const { id, state, assignee, updated_at: at } = task
  history.add(id, { at, actor, action, state, words })
  journal.append({
    actor,
    action: `task.${loggedByAction.includes(action) ? action : state}`,
    subject: id,
    detail: { assignee },
  })
  events.publish({
    type: 'task.changed',
    task_id: id,
    assignee,
    creator: task.creator,
    title: task.title,
    state,
    action,
  })
}

/** Actions that the audit log records by their name; for others it records the resulting state. */
const loggedByAction: readonly string[] = [
  'given',
  'accept',
  'progress',
  'answer',
  'retry',
  'reroute',
  'review',
]

function notifyRequester(task: TaskRecord, notify: NotifyRun): void {
  if (task.parent_run_id === null || (isTaskOpen(task.state) && task.state !== 'blocked')) return
  const round = task.round === 0 ? '' : `:${task.round}`
  notify(task.parent_run_id, `task:${task.id}:${task.state}${round}`, {
    kind: 'task-result',
    taskId: task.id,
    title: task.title,
    assignee: task.assignee,
    state: task.state,
    summary: task.summary ?? '',
    result: task.result,
  })
}
