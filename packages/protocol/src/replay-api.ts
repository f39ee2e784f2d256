import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { wireLimits } from './limits.ts'
import { recordedCallPattern } from './replay-endpoints.ts'
import type { replayAgentEndpoints } from './replay-endpoints.ts'
import { runViewSchema } from './run.ts'

/** Recorded model calls and answers of a run, and its replays. For people. */
export const replayEndpoints = {
  runRecord: {
    method: 'GET',
    path: '/api/runs/{id}/record',
    summary: 'Return the recorded model answers of a run, with tool calls and their results.',
  },
  runReplay: {
    method: 'POST',
    path: '/api/runs/{id}/replay',
    summary: 'Replay one turn of a run from its record, without outside effects.',
  },
  runFork: {
    method: 'POST',
    path: '/api/runs/{id}/fork',
    summary: 'Start a run in which another model continues from a step of a recorded run.',
  },
  runComparison: {
    method: 'GET',
    path: '/api/runs/{id}/comparison',
    summary: 'Return where a replay or fork differs from the recorded run.',
  },
} as const satisfies Record<string, Endpoint>

const recordedCall = z.strictObject({
  tool: z.string(),
  /** The arguments as JSON, as the model wrote them. */
  arguments: z.string(),
  /** The result that the model read; null if none was recorded, as for the call that ended the run. */
  result: z.nullable(z.string()),
})

export const recordStepSchema = z.strictObject({
  /** The number of the step, from 1, over all turns. */
  step: z.int(),
  turn: z.int(),
  /** Milliseconds since 1970. */
  at: z.number(),
  model: z.string(),
  text: z.string(),
  calls: z.array(recordedCall),
})
export type RecordStep = z.infer<typeof recordStepSchema>

export const runRecordSchema = z.strictObject({
  run_id: z.string(),
  agent_id: z.string(),
  /** Why a part of the record is missing; null if it is complete. */
  cut: z.nullable(z.string()),
  /** The input of each turn; a run has a second turn if it waited for something. */
  turns: z.array(z.strictObject({ turn: z.int(), asked: z.string() })),
  steps: z.array(recordStepSchema),
  /** The number of answers outside of the conversation: to sub-agents, and to questions about the conversation. */
  beside: z.int(),
})
export type RunRecordView = z.infer<typeof runRecordSchema>

export const differenceSchema = z.strictObject({
  /** The number of the step, from 1, as in the record; 0 if the difference belongs to no step. */
  step: z.int(),
  what: z.enum(['prompt', 'tools', 'call', 'result', 'text', 'missing', 'more', 'outcome']),
  detail: z.string(),
  before: z.nullable(z.string()),
  after: z.nullable(z.string()),
})
export type Difference = z.infer<typeof differenceSchema>

export const comparisonSchema = z.strictObject({
  run_id: z.string(),
  of_run: z.string(),
  kind: z.enum(['replay', 'fork']),
  model: z.nullable(z.string()),
  turn: z.int(),
  turns: z.int(),
  /** The number of replayed steps; `calls` is the number of tool calls in these steps. */
  steps: z.int(),
  calls: z.int(),
  /** Whether the replay matches: it may differ only in the agent's input. Other differences are listed first. */
  same: z.boolean(),
  differences: z.array(differenceSchema),
})
export type Comparison = z.infer<typeof comparisonSchema>

export const replayApi = {
  runRecord: { response: runRecordSchema },
  runReplay: {
    request: z.strictObject({ turn: z._default(z.int().check(z.minimum(1), z.maximum(1000)), 1) }),
    response: z.strictObject({ run: runViewSchema, turns: z.int() }),
  },
  runFork: {
    request: z.strictObject({
      model: z.string().check(z.minLength(1), z.maxLength(200)),
      /** The first step that the other model answers. */
      step: z._default(z.int().check(z.minimum(1), z.maximum(100_000)), 1),
      /** The limit for this run and all work that it delegates, US dollars. */
      max_usd: z.optional(z.number().check(z.minimum(0.000_001), z.maximum(1_000_000))),
    }),
    response: z.strictObject({ run: runViewSchema }),
  },
  runComparison: { response: comparisonSchema },
} as const satisfies Record<keyof typeof replayEndpoints, EndpointSchemas>

const historyMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: z.string() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string(),
    calls: z.array(z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })),
  }),
  z.strictObject({ role: z.literal('tool'), content: z.string(), call_id: z.string() }),
])
export type RecordedMessage = z.infer<typeof historyMessage>

const recordedHistorySchema = z.strictObject({
  messages: z.array(historyMessage),
  /** Messages that the agent got during the turn, each after `answers` of its answers. */
  said: z.array(z.strictObject({ answers: z.int(), text: z.string() })),
})
export type RecordedHistory = z.infer<typeof recordedHistorySchema>

export const replayAgentApi = {
  recordedCall: {
    request: z.strictObject({
      call_id: z.string().check(z.regex(recordedCallPattern)),
      tool: z.string().check(z.maxLength(200)),
    }),
    response: z.strictObject({
      output: z.string().check(z.maxLength(wireLimits.chatMessageMaxChars)),
      ok: z.boolean(),
      /** The record has no result: the call ended the run. */
      ended: z.boolean(),
    }),
  },
  recordedHistory: { response: recordedHistorySchema },
} as const satisfies Record<keyof typeof replayAgentEndpoints, EndpointSchemas>
