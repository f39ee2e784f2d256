import * as z from 'zod/mini'
import {
  chatHistorySchema,
  chatResetReplySchema,
  chatSessionsSchema,
  historyQuerySchema,
  sessionNameMaxChars,
  sessionNameSchema,
} from './chat-history.ts'
import { changedFilesFields } from './changed-files.ts'
import type { AgentEndpointName } from './agent-endpoints.ts'
import type { EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import {
  factsQuerySchema,
  factsSchema,
  folderSchema,
  forgottenSchema,
  identityFileSchema,
  keptLimits,
} from './kept-api.ts'
import { mcpServerStatusSchema } from './mcp-api.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { wireLimits, workspaceTextMaxChars } from './limits.ts'
import { originSchema } from './origin.ts'
import { shownPicturesSchema } from './shown-picture.ts'
import { steerMessagesSchema } from './steer.ts'
import { taskAssignmentSchema, taskTurnSchema } from './task.ts'
import { toolOutputSchema } from './tool-call.ts'
import { workspaceFiles } from './workspace-file.ts'

const message = z.string().check(z.minLength(1), z.maxLength(wireLimits.chatMessageMaxChars))
const runCall = { run_id: runIdSchema, fence: z.int() }

/** The agent's report of how a run went, from which the mesh derives the outcome: the specification's TaskResult. */
export const taskResultSchema = z.strictObject({
  run_id: runIdSchema,
  fence: z.int(),
  task_id: z.nullable(taskIdSchema),
  status: z.enum(['complete', 'failed', 'cancelled', 'timeout']),
  /** Structured output of a task, or of a tool call. */
  result: z.nullable(jsonValueSchema),
  /** The final answer to the caller. */
  response: z.string(),
  error: z.nullable(z.strictObject({ code: z.string(), detail: z.string() })),
  /** Maps keys to values; the mesh writes them under the agent's own permissions. */
  promote_to_blackboard: jsonObjectSchema,
  tool_outputs: z.array(toolOutputSchema),
  tokens_used: z.int(),
  cost_usd: z.number(),
  duration_ms: z.int(),
})
export type TaskResult = z.infer<typeof taskResultSchema>

export const chatRequestSchema = z.strictObject({
  ...runCall,
  message,
  session: z.string().check(z.maxLength(sessionNameMaxChars)),
  /** The task that this turn continues, if any. A repeated request may differ in it. */
  task: z.optional(taskTurnSchema),
  /** Steers that arrived before this attempt. A repeated request may differ in them. */
  steers: z.optional(steerMessagesSchema),
  /** The author of the message. A repeated request may differ in it. */
  origin: z.optional(originSchema),
})
export type ChatRequest = z.infer<typeof chatRequestSchema>

export const heartbeatRequestSchema = z.strictObject({
  ...runCall,
  /** The whole input of the heartbeat, or the result of work that the agent handed off. */
  message,
  /** True for a later turn of the same heartbeat. */
  continues: z.boolean(),
  steers: z.optional(steerMessagesSchema),
  origin: z.optional(originSchema),
})
export type HeartbeatRequest = z.infer<typeof heartbeatRequestSchema>

/** The `result` of a heartbeat that came to its end: `quiet` when its reply is `HEARTBEAT_OK` and nothing else. */
export const heartbeatResultSchema = z.strictObject({
  outcome: z.enum(['quiet', 'reported']),
  /** Names of the called tools, in the order of their first call. */
  tools_used: z.array(z.string()),
})
export type HeartbeatResult = z.infer<typeof heartbeatResultSchema>

export const heartbeatContextSchema = z.strictObject({
  heartbeat_rules: z.string(),
  is_default_heartbeat: z.boolean(),
  daily_logs: z.string(),
  /** The log of earlier heartbeats, which does not count as recent activity. */
  heartbeat_logs: z.string(),
  has_recent_activity: z.boolean(),
  disk_used_percent: z.nullable(z.number()),
})
export type HeartbeatContext = z.infer<typeof heartbeatContextSchema>

export const steerRequestSchema = z.strictObject({ ...runCall, steers: steerMessagesSchema })
export type SteerRequest = z.infer<typeof steerRequestSchema>

export const invokeRequestSchema = z.strictObject({
  ...runCall,
  tool: z.string(),
  params: jsonObjectSchema,
  origin: z.optional(originSchema),
})
export type InvokeRequest = z.infer<typeof invokeRequestSchema>

/** `accepted` is false if the agent already works on another run; `status` says how it handled the request. */
export const acceptedSchema = z.strictObject({
  accepted: z.boolean(),
  status: z.enum(['executing', 'attached', 'finished', 'busy']),
})

export const agentStatusSchema = z.strictObject({
  agent_id: agentIdSchema,
  role: z.string(),
  state: z.enum(['idle', 'working']),
  current: z.nullable(
    z.strictObject({
      run_id: runIdSchema,
      fence: z.int(),
      kind: z.string(),
      step: z.int(),
      last_step_at: z.number(),
    }),
  ),
  capabilities: z.array(z.string()),
  uptime_seconds: z.number(),
  tasks_completed: z.int(),
  tasks_failed: z.int(),
  has_checkpoint: z.boolean(),
})
export type AgentStatus = z.infer<typeof agentStatusSchema>

/** `unknown` when the agent never saw the run, or has forgotten it. */
export const resultReplySchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('unknown') }),
  z.strictObject({ state: z.literal('working'), fence: z.int() }),
  z.strictObject({ state: z.literal('finished'), result: taskResultSchema }),
])
export type ResultReply = z.infer<typeof resultReplySchema>

/** Ids, joined by slashes, of the calling sub-agent, which counts its own steps, and its ancestors; else absent. */
const subagent = z.optional(z.string())

/** One server-sent event of `/chat/stream`. Every stream ends with exactly one `done`. */
export const chatFrameSchema = z.discriminatedUnion('type', [
  /** `answer` numbers the answers of a run; `begins` marks the first piece of one, also of a repeated attempt. */
  z.strictObject({
    type: z.literal('text_delta'),
    content: z.string(),
    answer: z.optional(z.int()),
    begins: z.optional(z.literal(true)),
  }),
  z.strictObject({
    type: z.literal('tool_start'),
    step: z.int(),
    name: z.string(),
    input: jsonObjectSchema,
    subagent,
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    step: z.int(),
    name: z.string(),
    output: z.string(),
    ok: z.boolean(),
    pictures: shownPicturesSchema,
    subagent,
  }),
  /** The agent waits before it asks its model again. */
  z.strictObject({
    type: z.literal('model_wait'),
    seconds: z.number().check(z.minimum(0), z.maximum(wireLimits.modelWaitMaxSeconds)),
    code: z.string(),
    provider: z.nullable(z.string()),
    provider_status: z.nullable(z.int()),
  }),
  /** What an attempt that called tools did to the files below /data; sent before `done`. */
  z.strictObject({ type: z.literal('files_changed'), ...changedFilesFields }),
  z.strictObject({ type: z.literal('done'), result: taskResultSchema }),
])
export type ChatFrame = z.infer<typeof chatFrameSchema>

export const agentApi = {
  healthz: { response: z.strictObject({ status: z.literal('ok') }) },
  task: { request: taskAssignmentSchema, response: acceptedSchema },
  chat: { request: chatRequestSchema, response: taskResultSchema },
  chatStream: { request: chatRequestSchema },
  /** `accepted` is false if that run and fence are not active. An accepted steer may be unread: see the agent API. */
  chatSteer: { request: steerRequestSchema, response: z.strictObject({ accepted: z.boolean() }) },
  chatSessions: { response: chatSessionsSchema },
  chatHistory: { query: historyQuerySchema, response: chatHistorySchema },
  /** Problem `conflict` while a run uses the conversation. */
  chatReset: {
    request: z.strictObject({ session: sessionNameSchema }),
    response: chatResetReplySchema,
  },
  cancel: { request: z.strictObject(runCall), response: z.strictObject({ cancelled: z.boolean() }) },
  invoke: { request: invokeRequestSchema, response: acceptedSchema },
  status: { response: agentStatusSchema },
  frames: { query: z.strictObject({ run_id: runIdSchema }) },
  result: {
    query: z.strictObject({
      run_id: runIdSchema,
      wait_s: z.optional(z.coerce.number().check(z.minimum(0), z.maximum(30))),
    }),
    response: resultReplySchema,
  },
  capabilities: {
    response: z.strictObject({
      agent_id: agentIdSchema,
      role: z.string(),
      tools: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          parameters: jsonObjectSchema,
          /** `builtin`, `skill` (written by the agent), or `mcp:` and the name of the server that offers the tool. */
          source: z.string(),
          /** The group of a built-in tool. Like `groups`, it is missing in replies of agents of older releases. */
          group: z.optional(z.nullable(z.string())),
        }),
      ),
      /** The tools of each group: maps the tool's name within its group to the name by which a model calls it. */
      groups: z.optional(
        z.array(z.strictObject({ name: z.string(), tools: z.record(z.string(), z.string()) })),
      ),
      mcp_servers: z.array(mcpServerStatusSchema),
    }),
  },
  workspaceList: {
    response: z.strictObject({
      files: z.array(identityFileSchema).check(z.maxLength(workspaceFiles.length)),
    }),
  },
  workspaceRead: {
    response: z.strictObject({
      filename: z.string(),
      content: z.string().check(z.maxLength(workspaceTextMaxChars)),
    }),
  },
  workspaceWrite: {
    request: z.strictObject({ content: z.string().check(z.maxLength(wireLimits.chatMessageMaxChars)) }),
    response: z.strictObject({ filename: z.string(), size: z.int() }),
  },
  heartbeat: { request: heartbeatRequestSchema },
  heartbeatContext: { response: heartbeatContextSchema },
  fileWrite: { response: z.strictObject({ path: z.string(), size: z.int() }) },
  fileRead: {},
  pictureRead: {},
  fileList: {
    query: z.strictObject({ path: z.string().check(z.maxLength(keptLimits.pathMaxChars)) }),
    response: folderSchema,
  },
  memoryList: { query: factsQuerySchema, response: factsSchema },
  /** Deleting a fact that does not exist is no error, so that a client can repeat the call. */
  memoryForget: { response: forgottenSchema },
} as const satisfies Record<AgentEndpointName, EndpointSchemas>
