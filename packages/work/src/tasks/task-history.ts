import { taskLimits, taskOutcomes, taskStates } from '@flotilla/protocol/task-actions'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

const historySchema = z.object({
  at: z.number(),
  actor: z.string(),
  action: z.string(),
  state: z.enum(taskStates),
  words: z.string(),
})
export type TaskHistoryRow = Readonly<z.infer<typeof historySchema>>

const feedbackSchema = z.object({
  position: z.number(),
  task_id: z.string(),
  title: z.string(),
  outcome: z.enum(taskOutcomes),
  comment: z.string(),
  said_by: z.string(),
  said_at: z.number(),
})
type TaskFeedback = Readonly<z.infer<typeof feedbackSchema>>

export type TaskHistory = ReturnType<typeof createTaskHistory>

/** Stores the history of tasks and the reviews of work. */
export function createTaskHistory(database: Database) {
  return {
    add: (taskId: string, row: TaskHistoryRow): void => {
      database
        .prepare(
          'INSERT INTO task_history (task_id, at, actor, action, state, words) VALUES (?, ?, ?, ?, ?, ?)',
        )
        .run(taskId, row.at, row.actor, row.action, row.state, row.words)
    },
    /** The newest rows, oldest first. */
    of: (taskId: string, limit: number = taskLimits.historyMax): readonly TaskHistoryRow[] =>
      database
        .prepare(
          'SELECT at, actor, action, state, words FROM task_history WHERE task_id = ? ORDER BY position DESC LIMIT ?',
        )
        .all(taskId, limit)
        .map((row) => historySchema.parse(row))
        .toReversed(),
    count: (taskId: string, action: string): number =>
      Number(
        database
          .prepare('SELECT count(*) AS count FROM task_history WHERE task_id = ? AND action = ?')
          .get(taskId, action)?.['count'] ?? 0,
      ),
    forget: (taskId: string): void => {
      database.prepare('DELETE FROM task_history WHERE task_id = ?').run(taskId)
    },
    /** Adds a review for an agent. Deletes the agent's oldest reviews above the limit. */
    addFeedback: (agentId: string, feedback: Omit<TaskFeedback, 'position'>): void => {
      database
        .prepare(
          'INSERT INTO task_feedback (agent_id, task_id, title, outcome, comment, said_by, said_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          agentId,
          feedback.task_id,
          feedback.title,
          feedback.outcome,
          feedback.comment,
          feedback.said_by,
          feedback.said_at,
        )
      database
        .prepare(
          'DELETE FROM task_feedback WHERE agent_id = ? AND position NOT IN (SELECT position FROM task_feedback WHERE agent_id = ? ORDER BY position DESC LIMIT ?)',
        )
        .run(agentId, agentId, taskLimits.feedbackKeptMax)
    },
    /** Returns the reviews of the agent's work, oldest first. */
    feedbackFor: (agentId: string): readonly TaskFeedback[] =>
      database
        .prepare(
          'SELECT position, task_id, title, outcome, comment, said_by, said_at FROM task_feedback WHERE agent_id = ? ORDER BY position',
        )
        .all(agentId)
        .map((row) => feedbackSchema.parse(row)),
    forgetAgent: (agentId: string): void => {
      database.prepare('DELETE FROM task_feedback WHERE agent_id = ?').run(agentId)
    },
  }
}
