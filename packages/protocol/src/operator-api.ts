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
import { taskViewSchema } from './task.ts'

const counts = z.record(z.string(), z.int())
const crossProject = z.strictObject({ read: z.int(), write: z.int() })

export const agentMetricsSchema = z.strictObject({
  ...agentViewSchema.shape,
  cost_month_usd: z.number(),
  /** Runs that ended in the last 24 hours, by how. */
  runs_24h: counts,
  /** Refusals of the last 24 hours by action, since the mesh started. For people to look at; nothing follows from it. */
  tool_denials_24h: counts,
  /** Uses of another project's part of the blackboard since the mesh started. Nothing follows from it either. */
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
      /** Nothing happened for so long. */
      hours: z._default(z.coerce.number().check(z.minimum(1), z.maximum(720)), 24),
      agent: z.optional(z.string()),
      limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 50),
    }),
    response: z.strictObject({ tasks: z.array(taskViewSchema) }),
  },
  audit: {
    query: z.strictObject({
      /** Rows after this number; the newest ones when left out. */
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

const listLimit = z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 20)

export const operatorApi = {
  tools: { response: z.strictObject({ tools: z.array(z.string()) }) },
  agents: { response: z.strictObject({ agents: z.array(agentMetricsSchema) }) },
  agentConfig: { response: agentConfigSchema },
  agentFile: { response: z.strictObject({ file: z.string(), content: z.string() }) },
  agentCreate: {
    /** Without a project: a person decides whose budget a worker is charged to. */
    request: z.extend(z.omit(agentCreateSchema, { project: true }), {
      /** Over a worker's defaults, below the ceiling. */
      permissions: z._default(z.record(z.string(), jsonValueSchema), {}),
    }),
    response: agentViewSchema,
  },
  agentEdit: { request: agentEditSchema, response: changeViewSchema },
  agentRestart: { response: agentViewSchema },
  agentStop: { response: agentViewSchema },
  agentDelete: {
    request: z.strictObject({ reason: z._default(z.string().check(z.maxLength(500)), '') }),
    response: approvalViewSchema,
  },
  changes: {
    query: z.strictObject({ limit: listLimit }),
    response: z.strictObject({ changes: z.array(changeViewSchema) }),
  },
  changeUndo: { response: changeViewSchema },
  pending: {
    query: z.strictObject({ limit: listLimit }),
    response: z.strictObject({ pending: z.array(approvalViewSchema) }),
  },
  pendingCancel: { response: approvalViewSchema },
} as const satisfies Record<OperatorEndpointName, EndpointSchemas>
