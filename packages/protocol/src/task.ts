import * as z from 'zod/mini'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { originSchema } from './origin.ts'
import { steerMessagesSchema } from './steer.ts'
import { blockers, taskOutcomes, taskStates } from './task-actions.ts'

/** What one task may use, over all its turns; null without a limit. */
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
/** What was answered to a question of a task's agent, and by whom. */
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
  /** To what the agent asked when it worked on the task before: said in the conversation in which it asked. */
  answer: z.optional(taskAnswerSchema),
  /** Said to the run before this attempt of it began. No part of what is asked. */
  steers: z.optional(steerMessagesSchema),
  /** Who gave it. No part of what is asked either. */
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
  /** How often it was given anew: after an answer, a retry, to another agent. */
  round: z.int(),
  project: z.nullable(z.string()),
  /** The task in whose work it was given. */
  parent_task_id: z.nullable(taskIdSchema),
  /** The task that it is done again for. */
  previous_task_id: z.nullable(taskIdSchema),
  /** It begins when all of these are done. */
  needs: z.array(taskIdSchema),
  artifacts: z.array(taskArtifactSchema),
  parent_run_id: z.nullable(runIdSchema),
  /** Null while it waits for others or for room. */
  run_id: z.nullable(runIdSchema),
  /** Why it has not begun, in words. */
  waits_for: z.nullable(z.string()),
  blocked_by: z.nullable(z.enum(blockers)),
  /** The last note on how far it is. */
  progress: z.nullable(z.string()),
  /** Its caps over all runs; null where only the fleet's hold. */
  max_turns: z.nullable(z.int()),
  max_cost_usd: z.nullable(z.number()),
  max_tokens: z.nullable(z.int()),
  result: z.nullable(jsonValueSchema),
  summary: z.nullable(z.string()),
  /** The giver's verdict on its end. */
  outcome: z.nullable(z.enum(taskOutcomes)),
  feedback: z.nullable(z.string()),
  outcome_by: z.nullable(z.string()),
  outcome_at: z.nullable(z.number()),
  created_at: z.number(),
  updated_at: z.number(),
  completed_at: z.nullable(z.number()),
})
export type TaskView = z.infer<typeof taskViewSchema>
