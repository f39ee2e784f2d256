import * as z from 'zod/mini'
import { blackboardEntrySchema } from './blackboard-entry.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { wireLimits } from './limits.ts'
import { steerLimits } from './steer-limits.ts'
import { outboundHeadersSchema } from './outbound-headers.ts'
import { steerIdSchema, steerTextSchema, steerViewSchema } from './steer.ts'
import { taskViewSchema, tokenBudgetSchema } from './task.ts'
import { taskLimits } from './task-actions.ts'
import {
  manageTaskSchema,
  reviewTaskSchema,
  reviewSchema,
  taskDetailSchema,
  updateTaskSchema,
} from './task-api.ts'

/** The agent API: the calls of an agent in a container. Plain values; the schemas below have the same names. */
export const meshAgentEndpoints = {
  lease: { method: 'POST', path: '/mesh/lease', summary: 'Renew the lease of the run in the headers.' },
  agents: {
    method: 'GET',
    path: '/mesh/agents',
    summary: 'List the agents that the calling agent may message.',
  },
  blackboardList: {
    method: 'GET',
    path: '/mesh/blackboard',
    summary: 'List blackboard entries under a prefix that the calling agent may read.',
  },
  blackboardRead: { method: 'GET', path: '/mesh/blackboard/{*key}', summary: 'Return one blackboard entry.' },
  blackboardWrite: { method: 'PUT', path: '/mesh/blackboard/{*key}', summary: 'Write one blackboard entry.' },
  handOff: {
    method: 'POST',
    path: '/mesh/tasks',
    summary: 'Hand a task to another agent. The answer comes before the task is done.',
  },
  steer: {
    method: 'POST',
    path: '/mesh/agents/{id}/steer',
    summary: 'Add a message to the run that another agent executes.',
  },
  steersTaken: {
    method: 'POST',
    path: '/mesh/steers/taken',
    summary: 'Confirm that steers are in the conversation of the run in the headers.',
  },
  inbox: {
    method: 'GET',
    path: '/mesh/tasks/inbox',
    summary: 'List the calling agent’s open tasks, and the state of the tasks that it handed to others.',
  },
  completeTask: {
    method: 'POST',
    path: '/mesh/tasks/{id}/complete',
    summary: 'Complete a task of the calling agent.',
  },
  readTask: { method: 'GET', path: '/mesh/tasks/{id}', summary: 'Return one task with its history.' },
  updateTask: {
    method: 'POST',
    path: '/mesh/tasks/{id}/update',
    summary: 'Accept a task of the calling agent, report its progress, or ask its giver a question.',
  },
  manageTask: {
    method: 'POST',
    path: '/mesh/tasks/{id}/manage',
    summary: 'Answer, retry, reroute or cancel a task.',
  },
  reviewTask: {
    method: 'POST',
    path: '/mesh/tasks/{id}/review',
    summary: 'Rate the result of a task.',
  },
  saveArtifact: { method: 'POST', path: '/mesh/artifacts', summary: 'Save a file outside the container.' },
  notify: { method: 'POST', path: '/mesh/notify', summary: 'Send a notice to the owner.' },
  httpRequest: {
    method: 'POST',
    path: '/mesh/http',
    summary: 'Send an HTTP request to a public address for the calling agent.',
  },
  chatCompletions: {
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Call a model in the format of OpenAI’s chat completions.',
  },
  models: { method: 'GET', path: '/v1/models', summary: 'List the models that the caller may use.' },
} as const satisfies Record<string, Endpoint>

export type MeshAgentEndpointName = keyof typeof meshAgentEndpoints

const text = (maxChars: number) => z.string().check(z.minLength(1), z.maxLength(maxChars))

const taskArtifactNames = z.array(text(200)).check(z.maxLength(taskLimits.artifactsMax))

export const handOffRequestSchema = z.strictObject({
  to: agentIdSchema,
  title: text(200),
  description: z._default(z.string().check(z.maxLength(50_000)), ''),
  data: z._default(jsonObjectSchema, {}),
  /** The budget of the other agent for this task; never more than the caller has left. */
  token_budget: z._default(z.nullable(tokenBudgetSchema), null),
  /** The maximum number of model answers over all runs of the task; the fleet's own cap applies too. */
  max_turns: z._default(z.nullable(z.int().check(z.positive())), null),
  /** The task starts when all of these tasks are done. */
  needs: z._default(z.array(taskIdSchema).check(z.maxLength(taskLimits.needsMax)), []),
  /** Files that the caller has saved, for the other agent to read. */
  artifacts: z._default(taskArtifactNames, []),
})

export const handOffReplySchema = z.strictObject({
  task_id: taskIdSchema,
  /** Null while the task waits. */
  run_id: z.nullable(runIdSchema),
  state: z.string(),
  /** Why the task does not start at once; the mesh keeps it nevertheless. */
  note: z.nullable(z.string()),
})

export const completeTaskRequestSchema = z.strictObject({
  status: z._default(z.enum(['done', 'failed', 'blocked']), 'done'),
  summary: text(20_000),
  result: z._default(z.nullable(jsonValueSchema), null),
  artifacts: z._default(taskArtifactNames, []),
})

export const httpRequestSchema = z.strictObject({
  url: z.string().check(z.maxLength(8192)),
  method: z._default(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']), 'GET'),
  headers: outboundHeadersSchema,
  body: z._default(z.string().check(z.maxLength(1_000_000)), ''),
  timeout_ms: z._default(z.int().check(z.minimum(100), z.maximum(120_000)), 30_000),
})

export const httpReplySchema = z.strictObject({
  status: z.int(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  /** True when the body was longer than the bound. */
  truncated: z.boolean(),
})

export const agentSummarySchema = z.strictObject({
  id: agentIdSchema,
  kind: z.enum(['operator', 'worker']),
  role: z.string(),
  state: z.string(),
  /** The capabilities that the agent declares. */
  capabilities: z.array(z.string()),
})

export const meshAgentApi = {
  lease: { response: z.strictObject({ lease_until: z.number() }) },
  agents: { response: z.strictObject({ agents: z.array(agentSummarySchema) }) },
  blackboardList: {
    query: z.strictObject({ prefix: z._default(z.string(), '') }),
    response: z.strictObject({ entries: z.array(blackboardEntrySchema) }),
  },
  blackboardRead: { response: blackboardEntrySchema },
  blackboardWrite: {
    request: z.strictObject({
      value: jsonValueSchema,
      /** 0 demands that the key does not exist yet. */
      expected_version: z.optional(z.int().check(z.minimum(0))),
      ttl_s: z.optional(z.int().check(z.positive())),
    }),
    response: blackboardEntrySchema,
  },
  handOff: {
    request: handOffRequestSchema,
    response: handOffReplySchema,
  },
  steer: { request: z.strictObject({ text: steerTextSchema }), response: steerViewSchema },
  steersTaken: {
    request: z.strictObject({
      ids: z.array(steerIdSchema).check(z.minLength(1), z.maxLength(steerLimits.perRunMax)),
      step: z.int().check(z.minimum(0)),
    }),
    response: z.strictObject({ taken: z.int() }),
  },
  inbox: { response: z.strictObject({ assigned: z.array(taskViewSchema), given: z.array(taskViewSchema) }) },
  completeTask: { request: completeTaskRequestSchema, response: taskViewSchema },
  readTask: { response: taskDetailSchema },
  updateTask: { request: updateTaskSchema, response: taskViewSchema },
  manageTask: { request: manageTaskSchema, response: taskViewSchema },
  reviewTask: { request: reviewTaskSchema, response: reviewSchema },
  saveArtifact: {
    request: z.strictObject({
      name: z
        .string()
        .check(
          z.regex(/^[\p{L}\p{N}_](?:[\p{L}\p{N}_. -]{0,198}[\p{L}\p{N}_])?$/u, 'a file name without slashes'),
        ),
      content_base64: z.string().check(z.maxLength(Math.ceil((wireLimits.artifactMaxBytes * 4) / 3) + 4)),
      description: z._default(z.string().check(z.maxLength(2000)), ''),
      /** True shares the file with the members of the caller's project too. */
      shared: z._default(z.boolean(), false),
    }),
    response: z.strictObject({ name: z.string(), size_bytes: z.int(), sha256: z.string() }),
  },
  notify: {
    request: z.strictObject({ message: text(wireLimits.notifyMaxChars) }),
    response: z.strictObject({ note_id: z.string() }),
  },
  httpRequest: { request: httpRequestSchema, response: httpReplySchema },
  chatCompletions: {},
  models: {},
} as const satisfies Record<MeshAgentEndpointName, EndpointSchemas>
