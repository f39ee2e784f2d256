import { jsonObjectSchema, jsonValueSchema } from '@flotilla/protocol/json-value'
import { taskStates } from '@flotilla/protocol/task'
import type { TaskView } from '@flotilla/protocol/task'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { jsonColumn } from '../storage/index.ts'

const rowSchema = z.object({
  id: z.string(),
  creator: z.string(),
  assignee: z.string(),
  title: z.string(),
  description: z.string(),
  data: jsonColumn(jsonObjectSchema),
  state: z.enum(taskStates),
  parent_run_id: z.string().nullable(),
  run_id: z.string(),
  result: jsonColumn(jsonValueSchema).nullable(),
  summary: z.string().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
  completed_at: z.number().nullable(),
})
/** A task as it is kept; `creator` is an agent's id, or `human:<channel>`. */
export type TaskRecord = Readonly<z.infer<typeof rowSchema>>

const columns =
  'id, creator, assignee, title, description, data, state, parent_run_id, run_id, result, summary, created_at, updated_at, completed_at'
/** Someone works on it, or will. */
const worked = "state IN ('pending', 'accepted', 'working')"
const open = "state IN ('pending', 'accepted', 'working', 'blocked')"

export type TaskTable = ReturnType<typeof createTaskTable>

export function createTaskTable(database: Database) {
  const many = (sql: string, ...values: (string | number)[]): readonly TaskRecord[] =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => rowSchema.parse(row))

  return {
    insert: (task: TaskRecord): void => {
      database
        .prepare(
          'INSERT INTO tasks (id, creator, assignee, title, description, data, state, parent_run_id, run_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          task.id,
          task.creator,
          task.assignee,
          task.title,
          task.description,
          JSON.stringify(task.data),
          task.state,
          task.parent_run_id,
          task.run_id,
          task.created_at,
          task.updated_at,
        )
    },
    /** False when the row is not in the state that the change was made for. */
    replace: (before: TaskRecord, after: TaskRecord): boolean =>
      database
        .prepare(
          'UPDATE tasks SET state = ?, result = ?, summary = ?, updated_at = ?, completed_at = ? WHERE id = ? AND state = ?',
        )
        .run(
          after.state,
          after.result === null ? null : JSON.stringify(after.result),
          after.summary,
          after.updated_at,
          after.completed_at,
          before.id,
          before.state,
        ).changes === 1,
    find: (id: string): TaskRecord | null => many(`SELECT ${columns} FROM tasks WHERE id = ?`, id)[0] ?? null,
    /** Ids of the tasks that a run gave and that someone works on or will. */
    workedChildren: (runId: string): readonly string[] =>
      database
        .prepare(`SELECT id FROM tasks WHERE parent_run_id = ? AND ${worked} ORDER BY position`)
        .all(runId)
        .map((row) => String(row['id'])),
    openOf: (assignee: string, limit: number) =>
      many(
        `SELECT ${columns} FROM tasks WHERE assignee = ? AND ${open} ORDER BY position DESC LIMIT ?`,
        assignee,
        limit,
      ),
    openCount: (assignee: string): number =>
      Number(
        database
          .prepare(`SELECT count(*) AS count FROM tasks WHERE assignee = ? AND ${open}`)
          .get(assignee)?.['count'] ?? 0,
      ),
    /** Open ones that nothing happened to since, the oldest first. */
    staleSince: (then: number, page: { readonly agentId?: string | undefined; readonly limit: number }) =>
      many(
        `SELECT ${columns} FROM tasks WHERE ${open} AND updated_at <= ? AND (? = '' OR assignee = ?) ORDER BY updated_at LIMIT ?`,
        then,
        page.agentId ?? '',
        page.agentId ?? '',
        page.limit,
      ),
    givenBy: (creator: string, limit: number) =>
      many(`SELECT ${columns} FROM tasks WHERE creator = ? ORDER BY position DESC LIMIT ?`, creator, limit),
    list: ({ agentId, limit }: { readonly agentId?: string | undefined; readonly limit: number }) =>
      agentId === undefined
        ? many(`SELECT ${columns} FROM tasks ORDER BY position DESC LIMIT ?`, limit)
        : many(
            `SELECT ${columns} FROM tasks WHERE assignee = ? OR creator = ? ORDER BY position DESC LIMIT ?`,
            agentId,
            agentId,
            limit,
          ),
  }
}

/** A task as doors show it. Pure. */
export function taskView(task: TaskRecord): TaskView {
  return { ...task }
}
