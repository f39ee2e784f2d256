import * as z from 'zod/mini'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'
import { jsonObjectSchema, jsonValueSchema } from './json-value.ts'
import { originSchema } from './origin.ts'
import { steerViewSchema } from './steer.ts'

export const runKinds = ['chat', 'task', 'heartbeat', 'tool'] as const
export type RunKind = (typeof runKinds)[number]

export const runStates = ['queued', 'running', 'waiting', 'done', 'failed', 'cancelled', 'expired'] as const
export type RunState = (typeof runStates)[number]

export const terminalRunStates = ['done', 'failed', 'cancelled', 'expired'] as const
export type TerminalRunState = (typeof terminalRunStates)[number]

export function isTerminal(state: RunState): state is TerminalRunState {
  return (terminalRunStates as readonly string[]).includes(state)
}

/** The input of a run. */
export const runInputSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('chat'), message: z.string(), session: z.string() }),
  z.strictObject({ kind: z.literal('task'), task_id: taskIdSchema }),
  z.strictObject({ kind: z.literal('heartbeat'), message: z.string() }),
  z.strictObject({ kind: z.literal('tool'), tool: z.string(), params: jsonObjectSchema }),
])
export type RunInput = z.infer<typeof runInputSchema>

/** The single outcome with which a run ends (ledger invariant R4). */
export const runOutcomeSchema = z.strictObject({
  status: z.enum(terminalRunStates),
  /** The answer, or a plain reason why it is missing. */
  text: z.string(),
  /** A problem code when the status is not `done`. */
  code: z.optional(z.string()),
  result: z.optional(jsonValueSchema),
})
export type RunOutcome = z.infer<typeof runOutcomeSchema>

/** A run as the people's API shows it. Times are milliseconds since 1970. */
export const runViewSchema = z.strictObject({
  id: runIdSchema,
  agent_id: agentIdSchema,
  kind: z.enum(runKinds),
  origin: originSchema,
  input: runInputSchema,
  state: z.enum(runStates),
  attempt: z.number(),
  fence: z.number(),
  /** True if the run descends from a trigger and no person requested it: a pause keeps it from starting. */
  proactive: z.boolean(),
  parent_id: z.nullable(runIdSchema),
  task_id: z.nullable(taskIdSchema),
  /** Why the run waits, if it does: ids of its open child tasks, and of its open questions to a person. */
  waiting_on: z.array(z.string()),
  /** Steers of this run, oldest first, including the one that became this run, if there was one. */
  steers: z.array(steerViewSchema),
  trace_id: z.string(),
  created_at: z.number(),
  started_at: z.nullable(z.number()),
  ended_at: z.nullable(z.number()),
  outcome: z.nullable(runOutcomeSchema),
  tokens_used: z.number(),
  cost_usd: z.number(),
  /**
   * The parts of `tokens_used` and `cost_usd` that were reserved for calls that broke off: the real usage is unknown, and
   * at most this. 0 if the provider reported the usage of each call.
   */
  unconfirmed_tokens: z.number(),
  unconfirmed_usd: z.number(),
  /** The part of `tokens_used` that a harness reported of calls outside of the mesh; `cost_usd` has no price of it. */
  reported_tokens: z.number(),
})
export type RunView = z.infer<typeof runViewSchema>
