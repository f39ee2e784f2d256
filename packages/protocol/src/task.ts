import * as z from 'zod/mini'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { originSchema } from './origin.ts'
import { steerMessagesSchema } from './steer.ts'

export const taskStates = [
  'pending',
  'accepted',
  'working',
  'blocked',
  'done',
  'failed',
  'cancelled',
] as const
export type TaskState = (typeof taskStates)[number]

/** Which state may follow which; the terminal ones are followed by none. One table for tool, door and ledger. */
export const taskTransitions = {
  pending: ['accepted', 'working', 'blocked', 'done', 'failed', 'cancelled'],
  accepted: ['working', 'blocked', 'done', 'failed', 'cancelled'],
  working: ['blocked', 'done', 'failed', 'cancelled'],
  blocked: ['working', 'done', 'failed', 'cancelled'],
  done: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<TaskState, readonly TaskState[]>

export function isTaskOpen(state: TaskState): boolean {
  return taskTransitions[state].length > 0
}

export function canMoveTask(from: TaskState, to: TaskState): boolean {
  return (taskTransitions[from] as readonly TaskState[]).includes(to)
}

/** What one task may use, over all its turns; null where nobody capped it. */
export const tokenBudgetSchema = z.strictObject({
  max_tokens: z.nullable(z.int().check(z.positive())),
  max_cost_usd: z.nullable(z.number().check(z.positive())),
})
export type TokenBudget = z.infer<typeof tokenBudgetSchema>

/** The task that a later turn goes on with: its bounds are those of the whole task, whatever turn it is. */
export const taskTurnSchema = z.strictObject({
  task_id: taskIdSchema,
  token_budget: z.nullable(tokenBudgetSchema),
  /** Of all its turns so far, with the work that it gave away. */
  tokens_used: z.int().check(z.minimum(0)),
  cost_usd: z.number().check(z.minimum(0)),
})
export type TaskTurn = z.infer<typeof taskTurnSchema>

/** What an agent gets on `POST /task`. */
export const taskAssignmentSchema = z.strictObject({
  task_id: taskIdSchema,
  run_id: runIdSchema,
  fence: z.int(),
  task_type: z.string(),
  input_data: jsonObjectSchema,
  context: jsonObjectSchema,
  timeout_s: z.int().check(z.positive()),
  max_retries: z.int().check(z.minimum(0)),
  token_budget: z.nullable(tokenBudgetSchema),
  /** Said to the run before this attempt of it began. No part of what is asked. */
  steers: z.optional(steerMessagesSchema),
  /** Who gave it. No part of what is asked either. */
  origin: z.optional(originSchema),
})
export type TaskAssignment = z.infer<typeof taskAssignmentSchema>

/** A task as doors show it. Times are milliseconds since 1970. */
export const taskViewSchema = z.strictObject({
  id: taskIdSchema,
  creator: z.string(),
  assignee: agentIdSchema,
  title: z.string(),
  description: z.string(),
  data: jsonObjectSchema,
  state: z.enum(taskStates),
  parent_run_id: z.nullable(runIdSchema),
  run_id: z.nullable(runIdSchema),
  result: z.nullable(jsonValueSchema),
  summary: z.nullable(z.string()),
  created_at: z.number(),
  updated_at: z.number(),
  completed_at: z.nullable(z.number()),
})
export type TaskView = z.infer<typeof taskViewSchema>
