import * as z from 'zod/mini'
import { agentStates } from './agent-lifecycle.ts'
import { pauseViewSchema } from './pause-api.ts'
import { blackboardEntrySchema } from './blackboard-entry.ts'
import { sessionNameSchema } from './chat-history.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, runIdSchema } from './ids.ts'
import { agentIsolationSchema, isolationRungSchema, rungViewSchema } from './isolation.ts'
import { jsonObjectSchema } from './json-value.ts'
import { limits, wireLimits } from './limits.ts'
import { mcpServersSchema } from './mcp-servers.ts'
import { modelsApi, modelsEndpoints } from './models-api.ts'
import { fleetEventBodySchema } from './fleet-event.ts'
import { projectNameSchema } from './money-api.ts'
import { originKinds } from './origin.ts'
import { runStates, runViewSchema } from './run.ts'
import { steerTextSchema, steerViewSchema } from './steer.ts'
import { taskViewSchema } from './task.ts'
import { taskStates } from './task-actions.ts'
import { walletHaltSchema } from './wallet-api.ts'

/** The people's API for the command line and the dashboard, with the public probes `healthz` and `readyz`. */
export const meshHumanEndpoints = {
  healthz: { method: 'GET', path: '/healthz', summary: 'Answer 200 while the mesh runs.' },
  readyz: {
    method: 'GET',
    path: '/readyz',
    summary: 'Answer 200 when the mesh can run agents, otherwise 503 with the reasons.',
  },
  metrics: { method: 'GET', path: '/metrics', summary: 'Return metrics in the text format of Prometheus.' },
  status: {
    method: 'GET',
    path: '/api/status',
    summary: 'Return the state of the fleet: agents, runs, costs and isolation.',
  },
  agentCreate: { method: 'POST', path: '/api/agents', summary: 'Create a worker.' },
  agentRestart: {
    method: 'POST',
    path: '/api/agents/{id}/restart',
    summary: 'Restart an agent in a new container.',
  },
  chat: {
    method: 'POST',
    path: '/api/agents/{id}/chat',
    summary: 'Send a message to an agent. The answer is the outcome as JSON, or server-sent events.',
  },
  steer: {
    method: 'POST',
    path: '/api/agents/{id}/steer',
    summary: 'Add a message to an agent’s executing run, or start a run for it if the agent is idle.',
  },
  invoke: {
    method: 'POST',
    path: '/api/agents/{id}/invoke',
    summary: 'Call one tool of an agent without a model.',
  },
  fileWrite: {
    method: 'PUT',
    path: '/api/agents/{id}/files/{*path}',
    summary: 'Write a file below /data of an agent.',
  },
  runs: { method: 'GET', path: '/api/runs', summary: 'List runs, newest first.' },
  run: { method: 'GET', path: '/api/runs/{id}', summary: 'Return one run.' },
  runStream: {
    method: 'GET',
    path: '/api/runs/{id}/stream',
    summary: 'Stream a run from its beginning to its outcome as server-sent events.',
  },
  runCancel: { method: 'POST', path: '/api/runs/{id}/cancel', summary: 'Cancel a run.' },
  runRead: {
    method: 'POST',
    path: '/api/runs/{id}/read',
    summary: 'Confirm that the caller has seen the outcome of a run, so that it is not delivered again.',
  },
  tasks: { method: 'GET', path: '/api/tasks', summary: 'List tasks, newest first.' },
  blackboard: { method: 'GET', path: '/api/blackboard', summary: 'List blackboard entries under a prefix.' },
  artifacts: { method: 'GET', path: '/api/artifacts', summary: 'List artifacts, newest first.' },
  artifact: {
    method: 'GET',
    path: '/api/artifacts/{agent}/{name}',
    summary: 'Return the bytes of one artifact.',
  },
  costs: { method: 'GET', path: '/api/costs', summary: 'Return spend and budgets by agent.' },
  events: {
    method: 'GET',
    path: '/api/events',
    summary: 'Stream fleet events as server-sent events, from a sequence number.',
  },
  walls: { method: 'GET', path: '/api/walls', summary: 'Return the result of the last check of the walls.' },
  recordingStart: { method: 'POST', path: '/api/recording', summary: 'Start to record model conversations.' },
  recordingStop: {
    method: 'DELETE',
    path: '/api/recording',
    summary: 'Stop the recording and return the cassette.',
  },
  ...modelsEndpoints,
} as const satisfies Record<string, Endpoint>

export type MeshHumanEndpointName = keyof typeof meshHumanEndpoints

export const agentViewSchema = z.strictObject({
  id: agentIdSchema,
  kind: z.enum(['operator', 'worker']),
  role: z.string(),
  model: z.string(),
  /** The agent's lifecycle state. */
  state: z.enum(agentStates),
  /** When the agent entered the state, milliseconds since 1970; null if it was never started. */
  state_since: z.nullable(z.number()),
  /** When a lost agent is restarted or retried; null for all others. */
  retry_at: z.nullable(z.number()),
  /** Whether the agent is working on a run. */
  busy: z.boolean(),
  queued: z.int(),
  waiting: z.int(),
  cost_today_usd: z.number(),
  budget: z.strictObject({ daily_usd: z.number(), monthly_usd: z.number() }),
  /** An archived agent is not started and gets no work. */
  archived: z.boolean(),
  /** Why work that triggers start is paused for the agent, or null if it is not paused. */
  paused: z.nullable(z.string()),
  last_error: z.nullable(z.string()),
  /** What the start of the agent waits for, such as memory or its image; null if its work does not wait for that. */
  waits_for: z.nullable(z.string()),
  isolation: agentIsolationSchema,
})
export type AgentView = z.infer<typeof agentViewSchema>

export const wallReportSchema = z.strictObject({ id: z.string(), holds: z.boolean(), detail: z.string() })

export const budgetSchema = z.strictObject({
  daily_usd: usdWithin('daily_usd', limits.budgetDailyUsd),
  monthly_usd: usdWithin('monthly_usd', limits.budgetMonthlyUsd),
})

function usdWithin(field: string, { min, max }: { readonly min: number; readonly max: number }) {
  const message = `${field} is USD ${min} to ${max}`
  return z.number().check(z.minimum(min, message), z.maximum(max, message))
}

const list = {
  query: z.strictObject({
    agent: z.optional(z.string()),
    limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(500)), 50),
  }),
}

export const agentCreateSchema = z.strictObject({
  id: agentIdSchema,
  role: z.string().check(z.minLength(1), z.maxLength(500)),
  instructions: z._default(
    z.string().check(z.maxLength(limits.workspaceFileMaxChars['INSTRUCTIONS.md'])),
    '',
  ),
  model: z.optional(z.string().check(z.maxLength(200))),
  budget: z.optional(budgetSchema),
  /** The project whose budget the agent is charged to, in addition to its own and the fleet's. */
  project: z.optional(projectNameSchema),
  mcpServers: z.optional(mcpServersSchema),
})

export const readyReplySchema = z.strictObject({
  ready: z.boolean(),
  /** Problems that stop agents make the mesh not ready; others are only reported. */
  problems: z.array(
    z.strictObject({ id: z.string(), detail: z.string(), stops_agents: z.optional(z.boolean()) }),
  ),
})

/** One server-sent event of a streamed chat: fleet events of the run and its descendants, then `ended`. */
export const chatStreamFrameSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('accepted'), run_id: z.string() }),
  z.strictObject({ type: z.literal('event'), event: fleetEventBodySchema }),
  z.strictObject({ type: z.literal('ended'), run: runViewSchema }),
])
export type ChatStreamFrame = z.infer<typeof chatStreamFrameSchema>

export const meshHumanApi = {
  healthz: { response: z.strictObject({ status: z.literal('ok'), version: z.string() }) },
  readyz: { response: readyReplySchema },
  metrics: {},
  status: {
    response: z.strictObject({
      version: z.string(),
      home: z.string(),
      pid: z.int(),
      uptime_seconds: z.number(),
      runtime: z.strictObject({
        kind: z.string(),
        isolates: z.boolean(),
        /** How the data of an agent that is created now is limited; `unknown` while the engine is being prepared. */
        data_bound: z.enum(['volume', 'meter', 'unknown']),
        data_limit_mb: z.int(),
        /**
         * The isolation level of agents without a setting of their own, by the settings and the start of the mesh.
         */
        isolation: z.strictObject({
          wanted: isolationRungSchema,
          required: isolationRungSchema,
          rungs: z.array(rungViewSchema),
        }),
      }),
      /** The model of agents that name no model of their own, and what chose it, as text. */
      default_model: z.nullable(z.strictObject({ name: z.string(), from: z.string() })),
      ready: readyReplySchema,
      pauses: z.array(pauseViewSchema),
      /** Null if the wallet signs, if it does not exist, and for callers who are not owners. */
      wallet_halt: z.nullable(walletHaltSchema),
      /** Settings that have no effect, one sentence each with its repair; empty for callers who are not owners. */
      notices: z._default(z.array(z.string()), []),
      agents: z.array(agentViewSchema),
      runs: z.record(z.string(), z.int()),
    }),
  },
  agentCreate: { request: agentCreateSchema, response: agentViewSchema },
  agentRestart: { response: agentViewSchema },
  chat: {
    request: z.strictObject({
      message: z.string().check(z.minLength(1), z.maxLength(wireLimits.chatMessageMaxChars)),
      /**
       * Default: the conversation of the caller, which is that of the terminal, or one for each channel and
       * person.
       */
      session: z.optional(sessionNameSchema),
      /** What this run and all work that it delegates may spend, US dollars. */
      max_usd: z.optional(z.number().check(z.minimum(0.000_001), z.maximum(1_000_000))),
    }),
    response: runViewSchema,
  },
  steer: {
    request: z.strictObject({
      text: steerTextSchema,
      /** Steers only a run of this conversation; without it, whatever run the agent is working on. */
      session: z.optional(sessionNameSchema),
    }),
    response: steerViewSchema,
  },
  invoke: {
    request: z.strictObject({ tool: z.string(), params: jsonObjectSchema }),
    response: runViewSchema,
  },
  fileWrite: { response: z.strictObject({ path: z.string(), size: z.int() }) },
  runs: {
    query: z.extend(list.query, {
      state: z.optional(z.enum(runStates)),
      /** The kind of the run's origin. */
      from: z.optional(z.enum(originKinds)),
      /** Words in the run's request or answer, in the title of its task or in an id. */
      find: z.optional(z.string().check(z.maxLength(wireLimits.runSearchMaxChars))),
      /** Only runs that were requested before this one. */
      before: z.optional(runIdSchema),
      /** Only runs that were requested at or after `since` and before `until`, in milliseconds since 1970. */
      since: z.optional(z.coerce.number().check(z.int(), z.minimum(0))),
      until: z.optional(z.coerce.number().check(z.int(), z.minimum(0))),
    }),
    response: z.strictObject({
      runs: z.array(runViewSchema),
      /** The `before` of the next page; null if there are no more runs. */
      older: z.nullable(runIdSchema),
    }),
  },
  run: { response: runViewSchema },
  runStream: {},
  runCancel: { response: runViewSchema },
  runRead: { response: z.strictObject({ read: z.literal(true) }) },
  tasks: {
    query: z.extend(list.query, {
      state: z.optional(z.enum(taskStates)),
      project: z.optional(projectNameSchema),
    }),
    response: z.strictObject({ tasks: z.array(taskViewSchema) }),
  },
  blackboard: {
    query: z.strictObject({ prefix: z._default(z.string(), '') }),
    response: z.strictObject({ entries: z.array(blackboardEntrySchema) }),
  },
  artifacts: {
    response: z.strictObject({
      artifacts: z.array(
        z.strictObject({
          agent_id: z.string(),
          name: z.string(),
          description: z.string(),
          size_bytes: z.int(),
          sha256: z.string(),
          saved_at: z.number(),
          project: z.nullable(z.string()),
        }),
      ),
    }),
  },
  artifact: {},
  costs: {
    response: z.strictObject({
      agents: z.array(
        z.strictObject({
          agent_id: z.string(),
          today_usd: z.number(),
          month_usd: z.number(),
          budget: budgetSchema,
          calls: z.int(),
          tokens: z.int(),
        }),
      ),
    }),
  },
  events: { query: z.strictObject({ since: z._default(z.coerce.number(), 0) }) },
  walls: {
    response: z.strictObject({
      checked_at: z.nullable(z.number()),
      walls: z.array(wallReportSchema),
      /** The available isolation levels, weakest first. */
      rungs: z.array(rungViewSchema),
    }),
  },
  recordingStart: { response: z.strictObject({ recording: z.boolean() }) },
  recordingStop: {},
  ...modelsApi,
} as const satisfies Record<MeshHumanEndpointName, EndpointSchemas>
