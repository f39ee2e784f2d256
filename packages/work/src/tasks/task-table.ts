import { jsonObjectSchema, jsonValueSchema } from '@flotilla/protocol/json-value'
import { originSchema } from '@flotilla/protocol/origin'
import { blockers, taskOutcomes, taskStates } from '@flotilla/protocol/task-actions'
import { taskArtifactSchema } from '@flotilla/protocol/task'
import type { TaskView } from '@flotilla/protocol/task'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'

const rowSchema = z.object({
  id: z.string(),
  creator: z.string(),
  assignee: z.string(),
  title: z.string(),
  description: z.string(),
  data: jsonColumn(jsonObjectSchema),
  state: z.enum(taskStates),
  round: z.number(),
  project: z.string().nullable(),
  /** The origin of the task, fixed at its creation. All runs of the task start with this origin. */
  origin: jsonColumn(originSchema),
  parent_run_id: z.string().nullable(),
  parent_task_id: z.string().nullable(),
  previous_task_id: z.string().nullable(),
  run_id: z.string().nullable(),
  idempotency_key: z.string().nullable(),
  needs: jsonColumn(z.array(z.string())),
  artifacts: jsonColumn(z.array(taskArtifactSchema)),
  waits_for: z.string().nullable(),
  blocked_by: z.enum(blockers).nullable(),
  progress: z.string().nullable(),
  max_turns: z.number().nullable(),
  max_cost_usd: z.number().nullable(),
  max_tokens: z.number().nullable(),
  /** What this task's runs used in earlier rounds, including their hand-offs. */
  tokens_before: z.number(),
  cost_before_usd: z.number(),
  /** Number of model calls of the tasks that this task repeats. */
  calls_before: z.number(),
  result: jsonColumn(jsonValueSchema).nullable(),
  summary: z.string().nullable(),
  outcome: z.enum(taskOutcomes).nullable(),
  feedback: z.string().nullable(),
  outcome_by: z.string().nullable(),
  outcome_at: z.number().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
  completed_at: z.number().nullable(),
})
/** A stored task. `creator` is an agent's id or `human:<channel>`. */
export type TaskRecord = Readonly<z.infer<typeof rowSchema>>

const columnNames = Object.keys(rowSchema.shape) as (keyof TaskRecord)[]
/** Columns that never change. */
const fixed: readonly (keyof TaskRecord)[] = ['id', 'creator', 'origin', 'created_at', 'idempotency_key']
const changing = columnNames.filter((name) => !fixed.includes(name))
const jsonNames: readonly (keyof TaskRecord)[] = ['data', 'origin', 'needs', 'artifacts', 'result']
const columns = columnNames.join(', ')

/** SQL condition for tasks on which an agent works now or will work. */
const worked = "state IN ('pending', 'accepted', 'working')"
const open = "state IN ('pending', 'accepted', 'working', 'blocked')"
const waiting = "run_id IS NULL AND completed_at IS NULL AND state IN ('pending', 'accepted')"

/**
 * Selects the newest tasks that meet a condition on the columns of the index `tasks_listed`; the last value is the
 * limit. Rows are long, so only those of the result are read.
 */
const chosen = (selected: string, condition: string): string =>
  `SELECT ${selected} FROM tasks WHERE position IN (
    SELECT position FROM tasks INDEXED BY tasks_listed WHERE ${condition} ORDER BY position DESC LIMIT ?
  ) ORDER BY position DESC`

export interface TaskPageRows {
  readonly agentId?: string | undefined
  readonly project?: string | undefined
  /** Only tasks that were created at this time or later, milliseconds since 1970. */
  readonly since?: number | undefined
  readonly state?: string | undefined
  readonly limit: number
}

export type TaskTable = ReturnType<typeof createTaskTable>

/** Reads and writes the rows of tasks; callers make the decisions. */
export function createTaskTable(database: Database) {
  const many = (sql: string, ...values: (string | number)[]): readonly TaskRecord[] =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => rowSchema.parse(row))
  const count = (sql: string, ...values: (string | number)[]): number =>
    Number(database.prepare(sql).get(...values)?.['count'] ?? 0)
  const insertSql = `INSERT INTO tasks (${columns}) VALUES (${columnNames.map((name) => `:${name}`).join(', ')})`
  const replaceSql = `UPDATE tasks SET ${changing.map((name) => `${name} = :${name}`).join(', ')}
    WHERE id = :id AND state = :state_before AND round = :round_before`

  return {
    insert: (task: TaskRecord): void => {
      database.prepare(insertSql).run(valuesOf(task, columnNames))
    },
    /** Updates the row. Returns false if the row has another state or round than `before`. */
    replace: (before: TaskRecord, after: TaskRecord): boolean =>
      database.prepare(replaceSql).run({
        ...valuesOf({ ...after, id: before.id }, ['id', ...changing]),
        state_before: before.state,
        round_before: before.round,
      }).changes === 1,
    find: (id: string): TaskRecord | null => many(`SELECT ${columns} FROM tasks WHERE id = ?`, id)[0] ?? null,
    /** Returns the task that repeats the given one; null if none does. */
    madeOf: (taskId: string): TaskRecord | null =>
      many(
        `SELECT ${columns} FROM tasks WHERE previous_task_id = ? ORDER BY position DESC LIMIT 1`,
        taskId,
      )[0] ?? null,
    findByKey: (creator: string, key: string): TaskRecord | null =>
      many(`SELECT ${columns} FROM tasks WHERE creator = ? AND idempotency_key = ?`, creator, key)[0] ?? null,
    /** Returns the ids of a run's hand-offs on which an agent works now or will work. */
    workedChildren: (runId: string): readonly string[] =>
      database
        .prepare(`SELECT id FROM tasks WHERE parent_run_id = ? AND ${worked} ORDER BY position`)
        .all(runId)
        .map((row) => String(row['id'])),
    /** Open hand-offs of a task. */
    openBelow: (taskId: string) =>
      many(
        `SELECT ${columns} FROM tasks WHERE parent_task_id = ? AND ${open} ORDER BY position LIMIT 500`,
        taskId,
      ),
    childIds: (taskId: string, limit: number): readonly string[] =>
      database
        .prepare('SELECT id FROM tasks WHERE parent_task_id = ? ORDER BY position LIMIT ?')
        .all(taskId, limit)
        .map((row) => String(row['id'])),
    /** Returns tasks handed off by a run that have not started; used when that run is cancelled. */
    waitingFrom: (runId: string) =>
      many(`SELECT ${columns} FROM tasks WHERE parent_run_id = ? AND ${waiting} ORDER BY position`, runId),
    /** Returns tasks that wait for the given task, and tasks that are blocked because of it. */
    needing: (taskId: string) =>
      many(
        `SELECT ${columns} FROM tasks INDEXED BY tasks_waiting
          WHERE run_id IS NULL AND completed_at IS NULL AND ${open}
          AND EXISTS (SELECT 1 FROM json_each(tasks.needs) AS need WHERE need.value = ?) ORDER BY position`,
        taskId,
      ),
    /** Returns the waiting tasks of an assignee, oldest first. */
    waitingOf: (assignee: string, limit: number) =>
      many(
        `SELECT ${columns} FROM tasks WHERE assignee = ? AND ${waiting} ORDER BY position LIMIT ?`,
        assignee,
        limit,
      ),
    assigneesWithWaiting: (): readonly string[] =>
      database
        .prepare(`SELECT DISTINCT assignee FROM tasks WHERE ${waiting}`)
        .all()
        .map((row) => String(row['assignee'])),
    waitingCount: (assignee?: string): number =>
      assignee === undefined
        ? count(`SELECT count(*) AS count FROM tasks WHERE ${waiting}`)
        : count(`SELECT count(*) AS count FROM tasks WHERE assignee = ? AND ${waiting}`, assignee),
    openOf: (assignee: string, limit: number) =>
      many(
        `SELECT ${columns} FROM tasks WHERE assignee = ? AND ${open} ORDER BY position DESC LIMIT ?`,
        assignee,
        limit,
      ),
    openCount: (assignee: string): number =>
      count(`SELECT count(*) AS count FROM tasks WHERE assignee = ? AND ${open}`, assignee),
    /** Returns open tasks that have not changed since `then`, oldest first. */
    staleSince: (then: number, page: { readonly agentId?: string | undefined; readonly limit: number }) =>
      many(
        `SELECT ${columns} FROM tasks INDEXED BY tasks_open
          WHERE ${open} AND updated_at <= ? AND (? = '' OR assignee = ?) ORDER BY updated_at LIMIT ?`,
        then,
        page.agentId ?? '',
        page.agentId ?? '',
        page.limit,
      ),
    /** Returns the ids of tasks whose title contains the words, newest first, ignoring the case of ASCII letters. */
    titled: (words: string, limit: number): readonly string[] =>
      database
        .prepare(chosen('id', String.raw`title LIKE ? ESCAPE '\'`))
        .all(`%${words.replace(/[\\%_]/g, String.raw`\$&`)}%`, limit)
        .map((row) => String(row['id'])),
    givenBy: (creator: string, limit: number) =>
      many(`SELECT ${columns} FROM tasks WHERE creator = ? ORDER BY position DESC LIMIT ?`, creator, limit),
    list: ({ agentId = '', project = '', since = 0, state = '', limit }: TaskPageRows) =>
      many(
        chosen(
          columns,
          `(? = '' OR assignee = ? OR creator = ?) AND (? = '' OR project = ?)
            AND created_at >= ? AND (? = '' OR state = ?)`,
        ),
        agentId,
        agentId,
        agentId,
        project,
        project,
        since,
        state,
        state,
        limit,
      ),
    countsOf: (project: string, since = 0): Readonly<Record<string, number>> =>
      Object.fromEntries(
        database
          .prepare(
            'SELECT state, count(*) AS count FROM tasks WHERE project = ? AND created_at >= ? GROUP BY state',
          )
          .all(project, since)
          .map((row) => [String(row['state']), Number(row['count'])]),
      ),
    /** Returns true if a file is attached to a task that the agent gave or was given. */
    shares: (agentId: string, artifact: { readonly ownerId: string; readonly name: string }): boolean =>
      database
        .prepare(
          `SELECT 1 FROM tasks INDEXED BY tasks_with_artifacts, json_each(tasks.artifacts) AS one
            WHERE tasks.artifacts <> '[]'
            AND (tasks.assignee = ? OR tasks.creator = ?)
            AND one.value ->> 'agent_id' = ? AND one.value ->> 'name' = ? LIMIT 1`,
        )
        .get(agentId, agentId, artifact.ownerId, artifact.name) !== undefined,
    /** Returns the ids of tasks that ended before `then`, oldest first. */
    completedBefore: (then: number, limit: number): readonly string[] =>
      database
        .prepare('SELECT id FROM tasks WHERE completed_at <= ? ORDER BY completed_at LIMIT ?')
        .all(then, limit)
        .map((row) => String(row['id'])),
    remove: (id: string): void => {
      database.prepare('DELETE FROM tasks WHERE id = ?').run(id)
    },
  }
}

function valuesOf(
  task: TaskRecord,
  names: readonly (keyof TaskRecord)[],
): Record<string, string | number | null> {
  return Object.fromEntries(
    names.map((name) => {
      const value = task[name]
      if (value === null) return [name, null]
      return [name, jsonNames.includes(name) ? JSON.stringify(value) : (value as string | number)]
    }),
  )
}

/** Converts a task to the format of the API. Pure. */
export function taskView(task: TaskRecord): TaskView {
  const {
    origin: _origin,
    idempotency_key: _key,
    tokens_before: _tokens,
    cost_before_usd: _cost,
    calls_before: _calls,
    ...view
  } = task
  return view
}
