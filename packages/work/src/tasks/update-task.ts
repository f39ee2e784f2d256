import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { taskActions, taskLimits } from '@flotilla/protocol/task-actions'
import type { TaskActionName, UpdateAction } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { Clock } from '@flotilla/protocol/clock'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { RunDelivery, RunLifecycle } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import { requireOwn } from './complete-task.ts'
import { artifactsOf } from './hand-off.ts'
import type { MoveTask } from './move-task.ts'
import { record } from './move-task.ts'
import type { TaskHistory } from './task-history.ts'
import { taskView } from './task-table.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

export interface UpdateTaskInput {
  readonly taskId: string
  readonly action: UpdateAction
  /** The reported progress, or the question to the creator. */
  readonly note: string
  readonly artifacts?: readonly string[]
}

/**
 * Reports on a task, for its assignee: accepts the task, reports progress or asks the creator a question. Throws the
 * Problems `denied`, `stale-fence`, `not-found`, `conflict` if the state does not allow it, `bad-request` for an
 * empty question, `unprocessable` after too many notes.
 */
export type UpdateTask = (caller: Caller, input: UpdateTaskInput) => TaskView

export function createUpdateTask(deps: {
  readonly database: Database
  readonly ledger: Pick<RunLifecycle, 'live'> & Pick<RunDelivery, 'notifyRun'>
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly moveTask: MoveTask
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly clock: Clock
}): UpdateTask {
  const { database, ledger, table, history, moveTask } = deps

  /** Stores a note on a task that is in progress, without a change of the task's state. */
  function noteProgress(task: TaskRecord, caller: Caller, changes: Partial<TaskRecord>): TaskRecord {
    const next = { ...task, ...changes, updated_at: deps.clock.now() }
    if (!table.replace(task, next)) throw refused(task)
    record(deps, next, { action: 'progress', actor: actorOf(caller), words: next.progress ?? '' })
    return next
  }

  return (caller, { taskId, action, note, artifacts = [] }) => {
    if (caller.kind !== 'agent') throw new Problem('not-found')
    deps.guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    const noteText = noteOf(note)
    if (noteText === '' && action !== 'accept') {
      throw new Problem('bad-request', {
        detail: action === 'block' ? '`note`: ask your question' : '`note`: describe the progress',
      })
    }
    return database.transaction(() => {
      const task = requireOwn({ ledger, table }, caller, taskId)
      if (task.state === taskActions[action].to && isUnchanged(task, action, noteText)) return taskView(task)
      if (action === 'progress' && history.count(taskId, 'progress') >= taskLimits.progressMax) {
        throw new Problem('unprocessable', {
          detail: `a task may have at most ${taskLimits.progressMax} progress notes; continue, and complete the task`,
        })
      }
      const attached = artifactsOf(caller, artifacts, task.artifacts)
      const changes: Partial<TaskRecord> = { artifacts: attached, ...changesBy(action, noteText) }
      if (action === 'progress' && task.state === 'working')
        return taskView(noteProgress(task, caller, changes))
      const move = { action, actor: actorOf(caller), words: noteText, changes, notify: ledger.notifyRun }
      const moved = moveTask(task, move)
      if (!moved) throw refused(task)
      return taskView(moved)
    })
  }
}

function changesBy(action: UpdateAction, noteText: string): Partial<TaskRecord> {
  if (action === 'block') return { summary: noteText, blocked_by: 'question' }
  return action === 'progress' ? { progress: noteText } : {}
}

function isUnchanged(task: TaskRecord, action: UpdateAction, noteText: string): boolean {
  return action === 'accept' || (action === 'block' ? task.summary : task.progress) === noteText
}

/** Returns the note as people and models see it. Pure. */
export function noteOf(text: string): string {
  return sanitizeForPrompt(text).trim().slice(0, taskLimits.noteMaxChars)
}

export function refused(task: TaskRecord, action?: TaskActionName): Problem {
  const allowed =
    action === undefined ? '' : `; ${action} needs a task that is ${taskActions[action].from.join(' or ')}`
  return new Problem('conflict', { detail: `the task is ${task.state}${allowed}` })
}
