import * as z from 'zod/mini'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { originSchema } from './origin.ts'
import { steerMessagesSchema } from './steer.ts'
import { blockers, taskOutcomes, taskStates } from './task-actions.ts'

/** The limits of one task over all its turns; null without a limit. */
export const tokenBudgetSchema = z.strictObject({
  max_tokens: z.nullable(z.int().check(z.positive())),
  max_cost_usd: z.nullable(z.number().check(z.positive())),
})
export type TokenBudget = z.infer<typeof tokenBudgetSchema>

/** The task that a later turn continues; its limits apply to all turns together. */
export const taskTurnSchema = z.strictObject({
  task_id: taskIdSchema,
  token_budget: z.nullable(tokenBudgetSchema),
  /** Tokens that all turns have used so far, including the work that they delegated. */
  tokens_used: z.int().check(z.minimum(0)),
  cost_usd: z.number().check(z.minimum(0)),
})
export type TaskTurn = z.infer<typeof taskTurnSchema>

/** What an agent gets on `POST /task`. */
/** The answer to a question of a task's agent, and its author. */
export const taskAnswerSchema = z.strictObject({ by: z.string(), text: z.string() })
export type TaskAnswer = z.infer<typeof taskAnswerSchema>

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
  /** The answer to the agent's earlier question about the task; it goes into the conversation with the question. */
  answer: z.optional(taskAnswerSchema),
  /** Steers that arrived before this attempt. A repeated request may differ in them. */
  steers: z.optional(steerMessagesSchema),
  /** The origin of the task. A repeated request may differ in it. */
  origin: z.optional(originSchema),
})
export type TaskAssignment = z.infer<typeof taskAssignmentSchema>

/** A saved file that belongs to a task: giver and assignee may read it, whichever agent saved it. */
export const taskArtifactSchema = z.strictObject({ agent_id: agentIdSchema, name: z.string() })
export type TaskArtifact = z.infer<typeof taskArtifactSchema>

/** A task as the API shows it. Times are milliseconds since 1970. */
export const taskViewSchema = z.strictObject({
  id: taskIdSchema,
  creator: z.string(),
  assignee: agentIdSchema,
  title: z.string(),
  description: z.string(),
  data: jsonObjectSchema,
  state: z.enum(taskStates),
  /** How often the task was assigned again: after an answer, a retry, or to another agent. */
  round: z.int(),
  project: z.nullable(z.string()),
  /** The task during which this task was handed off. */
  parent_task_id: z.nullable(taskIdSchema),
  /** The task that this task repeats. */
  previous_task_id: z.nullable(taskIdSchema),
  /** The task starts when all of these are done. */
  needs: z.array(taskIdSchema),
  artifacts: z.array(taskArtifactSchema),
  parent_run_id: z.nullable(runIdSchema),
  /** Null while the task waits for other tasks or for room in a lane. */
  run_id: z.nullable(runIdSchema),
  /** Why the task has not started, as text. */
  waits_for: z.nullable(z.string()),
  blocked_by: z.nullable(z.enum(blockers)),
  /** The assignee's last progress note. */
  progress: z.nullable(z.string()),
  /** The task's own caps over all runs; null if only the fleet's caps apply. */
  max_turns: z.nullable(z.int()),
  max_cost_usd: z.nullable(z.number()),
  max_tokens: z.nullable(z.int()),
  result: z.nullable(jsonValueSchema),
  summary: z.nullable(z.string()),
  /** The giver's verdict on the result. */
  outcome: z.nullable(z.enum(taskOutcomes)),
  feedback: z.nullable(z.string()),
  outcome_by: z.nullable(z.string()),
  outcome_at: z.nullable(z.number()),
  created_at: z.number(),
  updated_at: z.number(),
  completed_at: z.nullable(z.number()),
})
export type TaskView = z.infer<typeof taskViewSchema>
