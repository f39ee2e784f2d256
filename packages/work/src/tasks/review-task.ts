import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { isTaskOpen, taskLimits } from '@flotilla/protocol/task-actions'
import type { TaskOutcome } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { TaskHistory } from './task-history.ts'
import { creatorOf } from './hand-off.ts'
import { giveAgain } from './manage-task.ts'
import type { ManageTaskDeps } from './manage-task.ts'
import { record } from './move-task.ts'
import { taskView } from './task-table.ts'
import type { TaskRecord } from './task-table.ts'

export interface ReviewTaskInput {
  readonly taskId: string
  readonly outcome: TaskOutcome
  readonly comment: string
}

export interface Review {
  readonly task: TaskView
  /** The task that repeats the work; null if no rework was requested. */
  readonly rework: TaskView | null
}

/**
 * Reviews a finished task once, for its creator. The review goes into the agent's learnings, and with `rework` the
 * agent repeats the task. Throws the Problems `denied`, `not-found`, `conflict` if the task is open or has a
 * different review, `bad-request` if a required comment is missing, and those of `submitRun` for a rework.
 */
export type ReviewTask = (caller: Caller, input: ReviewTaskInput) => Review

export function createReviewTask(
  deps: ManageTaskDeps & { readonly history: TaskHistory; readonly feedbackGiven: (agentId: string) => void },
): ReviewTask {
  const { database, access } = deps
  return (caller, { taskId, outcome, comment }) => {
    access.requireActing(caller)
    const task = access.requireGiver(caller, taskId)
    const feedback = sanitizeForPrompt(comment).trim().slice(0, taskLimits.feedbackMaxChars)
    if (feedback === '' && outcome !== 'accepted') {
      throw new Problem('bad-request', {
        detail: `\`comment\`: say why the task is ${outcome}, because its agent learns from the comment`,
      })
    }
    if (isTaskOpen(task.state)) {
      throw new Problem('conflict', { detail: `the task is ${task.state}; review it after it has ended` })
    }
    if (task.outcome === outcome && task.feedback === feedback) return { task: taskView(task), rework: null }
    if (task.outcome !== null) {
      throw new Problem('conflict', { detail: `the task already has a review: ${task.outcome}` })
    }
    if (outcome === 'rework') {
      deps.guard(caller, { do: 'route-tasks' })
      deps.guard(caller, { do: caller.kind === 'agent' ? 'message-agent' : 'submit-run', to: task.assignee })
    }
    return database.transaction(() => {
      const judged = judge(deps, caller, { task, outcome, words: feedback })
      const rework =
        outcome === 'rework'
          ? giveAgain(deps, caller, {
              task: judged,
              words: feedback,
              description: reworkText(task, feedback),
            })
          : null
      return { task: taskView(judged), rework }
    })
  }
}

function judge(
  deps: Parameters<typeof createReviewTask>[0],
  caller: Caller,
  review: { readonly task: TaskRecord; readonly outcome: TaskOutcome; readonly words: string },
): TaskRecord {
  const { task, outcome, words } = review
  const now = deps.clock.now()
  const by = creatorOf(caller)
  const next: TaskRecord = {
    ...task,
    outcome,
    feedback: words,
    outcome_by: by,
    outcome_at: now,
    updated_at: now,
  }
  if (!deps.table.replace(task, next))
    throw new Problem('conflict', { detail: 'the task was changed by another request; read it again' })
  record(deps, next, {
    action: 'review',
    actor: actorOf(caller),
    words: words === '' ? outcome : `${outcome}: ${words}`,
  })
  deps.history.addFeedback(task.assignee, {
    task_id: task.id,
    title: task.title,
    outcome,
    comment: words,
    said_by: by,
    said_at: now,
  })
  deps.database.afterCommit(() => deps.feedbackGiven(task.assignee))
  return next
}

/** The maximum length of the description of a task that repeats a reviewed task, in characters. */
const descriptionMaxChars = 50_000

function reworkText(task: TaskRecord, feedback: string): string {
  const addition = `\n\nThis repeats ${task.id}. Its result was: ${task.summary ?? 'nothing'}\nWhat must be different: ${feedback}`
  return `${task.description.slice(0, descriptionMaxChars - Math.min(addition.length, 25_000))}${addition.slice(0, 25_000)}`
}
