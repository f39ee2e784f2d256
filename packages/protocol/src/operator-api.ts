import * as z from 'zod/mini'
import { agentConfigSchema, agentEditSchema, approvalViewSchema, changeViewSchema } from './agent-edit.ts'
import type { EndpointSchemas } from './endpoint.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { agentCreateSchema, agentViewSchema } from './mesh-human-api.ts'
import type {
  OperatorArchiveEndpointName,
  OperatorEndpointName,
  OperatorViewEndpointName,
} from './operator-endpoints.ts'
import { budgetViewSchema } from './money-api.ts'
import { agentIdSchema } from './ids.ts'
import { heartbeatApi } from './heartbeat-api.ts'
import { messageHumanApi } from './message-api.ts'
import { runViewSchema } from './run.ts'
import { taskViewSchema } from './task.ts'
import { taskStates } from './task-actions.ts'

const counts = z.record(z.string(), z.int())
const crossProject = z.strictObject({ read: z.int(), write: z.int() })

export const agentMetricsSchema = z.strictObject({
  ...agentViewSchema.shape,
  cost_month_usd: z.number(),
  /** Runs that ended in the last 24 hours, by outcome. */
  runs_24h: counts,
  /** Denied calls of the last 24 hours by action, since the mesh started. For people: the mesh does not act on it. */
  tool_denials_24h: counts,
  /** Uses of other projects' blackboard keys since the mesh started. The mesh does not act on these numbers. */
  _blackboard_xproject_count: crossProject,
})
export type AgentMetrics = z.infer<typeof agentMetricsSchema>

export const auditRowSchema = z.strictObject({
  seq: z.int(),
  at: z.number(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: jsonObjectSchema,
})

export const operatorViewApi = {
  metrics: {
    response: z.strictObject({
      agents: z.strictObject({ total: z.int(), by_state: counts, busy: z.int() }),
      runs: counts,
      cost_today_usd: z.number(),
      stale_tasks_24h: z.int(),
      tool_denials_24h: counts,
      _blackboard_xproject_count: crossProject,
      pending_approvals: z.int(),
      uptime_seconds: z.number(),
    }),
  },
  agentMetrics: { response: agentMetricsSchema },
  staleTasks: {
    query: z.strictObject({
      /** Tasks without any change for this many hours. */
      hours: z._default(z.coerce.number().check(z.minimum(1), z.maximum(720)), 24),
      agent: z.optional(z.string()),
      limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 50),
    }),
    response: z.strictObject({ tasks: z.array(taskViewSchema) }),
  },
  tasks: {
    query: z.strictObject({
      agent: z.optional(z.string()),
      project: z.optional(z.string()),
      state: z.optional(z.enum(taskStates)),
      limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 20),
    }),
    response: z.strictObject({ tasks: z.array(taskViewSchema) }),
  },
  audit: {
    query: z.strictObject({
      /** Only rows after this number; the newest rows if omitted. */
      after: z.optional(z.coerce.number().check(z.minimum(0))),
      limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(500)), 50),
    }),
    response: z.strictObject({ rows: z.array(auditRowSchema) }),
  },
} as const satisfies Record<OperatorViewEndpointName, EndpointSchemas>

export const operatorArchiveApi = {
  archived: { response: z.strictObject({ agents: z.array(agentViewSchema) }) },
  archive: { response: agentViewSchema },
  unarchive: { response: agentViewSchema },
} as const satisfies Record<OperatorArchiveEndpointName, EndpointSchemas>

/** The fields of a run that a supervisor of the fleet needs. */
export const queuedRunSchema = z.strictObject({
  ...z.pick(runViewSchema, {
    id: true,
    kind: true,
    origin: true,
    state: true,
    task_id: true,
    waiting_on: true,
    created_at: true,
    started_at: true,
    ended_at: true,
    cost_usd: true,
  }).shape,
  /** The first words of the run's input; `outcome` has the first words of its result. */
  about: z.string(),
  outcome: z.nullable(z.string()),
})
export type QueuedRun = z.infer<typeof queuedRunSchema>

const listLimit = z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 20)

export const operatorApi = {
  tools: { response: z.strictObject({ tools: z.array(z.string()) }) },
  agents: { response: z.strictObject({ agents: z.array(agentMetricsSchema) }) },
  agentConfig: { response: agentConfigSchema },
  agentFile: { response: z.strictObject({ file: z.string(), content: z.string() }) },
  agentCreate: {
    /** Cannot set a project: a person decides whose budget a worker is charged to. */
    request: z.extend(z.omit(agentCreateSchema, { project: true }), {
      /** Added to a worker's default permissions; limited by the operator's ceiling. */
      permissions: z._default(z.record(z.string(), jsonValueSchema), {}),
    }),
    response: agentViewSchema,
  },
  agentEdit: { request: agentEditSchema, response: changeViewSchema },
  agentRestart: { response: agentViewSchema },
  agentStop: { response: agentViewSchema },
  agentHibernate: { response: agentViewSchema },
  agentDelete: {
    request: z.strictObject({ reason: z._default(z.string().check(z.maxLength(500)), '') }),
    response: approvalViewSchema,
  },
  changes: {
    query: z.strictObject({ limit: listLimit }),
    response: z.strictObject({ changes: z.array(changeViewSchema) }),
  },
  changeUndo: { response: changeViewSchema },
  templates: { response: z.strictObject({ templates: z.array(z.string()) }) },
  templateApply: {
    response: z.strictObject({ created: z.array(agentIdSchema), existing: z.array(agentIdSchema) }),
  },
  agentRuns: {
    query: z.strictObject({ limit: listLimit }),
    response: z.strictObject({ runs: z.array(queuedRunSchema) }),
  },
  budgets: { response: z.strictObject({ budgets: z.array(budgetViewSchema) }) },
  messages: messageHumanApi.messages,
  agentHeartbeat: heartbeatApi.heartbeatSet,
  pending: {
    query: z.strictObject({ limit: listLimit }),
    response: z.strictObject({ pending: z.array(approvalViewSchema) }),
  },
  pendingCancel: { response: approvalViewSchema },
} as const satisfies Record<OperatorEndpointName, EndpointSchemas>
