import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, taskIdSchema } from './ids.ts'
import { jsonObjectSchema } from './json-value.ts'
import { manageActions, taskLimits, taskOutcomes, taskStates, updateActions } from './task-actions.ts'
import { taskViewSchema, tokenBudgetSchema } from './task.ts'

/** Endpoints for one task that both APIs have. */

const note = z._default(z.string().check(z.maxLength(taskLimits.noteMaxChars)), '')
const artifactNames = z
  .array(z.string().check(z.minLength(1), z.maxLength(200)))
  .check(z.maxLength(taskLimits.artifactsMax))

export const updateTaskSchema = z.strictObject({
  action: z.enum(updateActions),
  note,
  artifacts: z._default(artifactNames, []),
})

export const manageTaskSchema = z.strictObject({
  action: z.enum(manageActions),
  note,
  /** The new assignee of a rerouted task. */
  to: z.optional(agentIdSchema),
})

export const reviewTaskSchema = z.strictObject({
  outcome: z.enum(taskOutcomes),
  comment: z._default(z.string().check(z.maxLength(taskLimits.feedbackMaxChars)), ''),
})

/** `rework` is the new task for the rework; null without one. */
export const reviewSchema = z.strictObject({ task: taskViewSchema, rework: z.nullable(taskViewSchema) })

export const taskDetailSchema = z.strictObject({
  task: taskViewSchema,
  /** Oldest first. */
  history: z.array(
    z.strictObject({
      at: z.number(),
      actor: z.string(),
      action: z.string(),
      state: z.enum(taskStates),
      words: z.string(),
    }),
  ),
  /** Tasks that the assignee handed off while it worked on this task. */
  children: z.array(taskIdSchema),
})
export type TaskDetailView = z.infer<typeof taskDetailSchema>

/** The people's API. */
export const taskHumanEndpoints = {
  taskGive: { method: 'POST', path: '/api/tasks', summary: 'Give a task to an agent.' },
  task: { method: 'GET', path: '/api/tasks/{id}', summary: 'Return one task with its history.' },
  taskManage: {
    method: 'POST',
    path: '/api/tasks/{id}/manage',
    summary: 'Answer, retry, reroute or cancel a task.',
  },
  taskReview: {
    method: 'POST',
    path: '/api/tasks/{id}/review',
    summary: 'Rate the result of a task.',
  },
} as const satisfies Record<string, Endpoint>

export const taskHumanApi = {
  taskGive: {
    request: z.strictObject({
      to: agentIdSchema,
      title: z.string().check(z.minLength(1), z.maxLength(200)),
      description: z._default(z.string().check(z.maxLength(50_000)), ''),
      data: z._default(jsonObjectSchema, {}),
      token_budget: z._default(z.nullable(tokenBudgetSchema), null),
      max_turns: z._default(z.nullable(z.int().check(z.positive())), null),
      needs: z._default(z.array(taskIdSchema).check(z.maxLength(taskLimits.needsMax)), []),
    }),
    response: z.strictObject({ task: taskViewSchema, note: z.nullable(z.string()) }),
  },
  task: { response: taskDetailSchema },
  taskManage: { request: manageTaskSchema, response: taskViewSchema },
  taskReview: { request: reviewTaskSchema, response: reviewSchema },
} as const satisfies Record<keyof typeof taskHumanEndpoints, EndpointSchemas>
