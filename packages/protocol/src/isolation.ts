import * as z from 'zod/mini'

/**
 * Isolation levels between an agent and the kernel of the machine, weakest first: a `container` shares the kernel
 * behind a system call filter, `gvisor` answers system calls with its own kernel in user space, a `microvm` is a
 * virtual machine.
 */
export const isolationRungs = ['container', 'gvisor', 'microvm'] as const
export type IsolationRung = (typeof isolationRungs)[number]
export const isolationRungSchema = z.enum(isolationRungs)

/** If the level is not available: `preferred` falls back to the minimum, `required` does not start the agent. */
export const isolationModes = ['preferred', 'required'] as const
export type IsolationMode = (typeof isolationModes)[number]
export const isolationModeSchema = z.enum(isolationModes)

/** The isolation levels that an agent is to run on. */
export interface IsolationWish {
  readonly wanted: IsolationRung
  /** The minimum level: below it the agent does not start. Never above `wanted`. */
  readonly floor: IsolationRung
}

export const isWeaker = (one: IsolationRung, other: IsolationRung): boolean =>
  isolationRungs.indexOf(one) < isolationRungs.indexOf(other)

export const strongerRung = (one: IsolationRung, other: IsolationRung): IsolationRung =>
  isWeaker(one, other) ? other : one

/** The current state of an isolation level, for people. */
export const rungViewSchema = z.strictObject({
  rung: isolationRungSchema,
  /** Null if no agent or setting has requested it since the engine became available. */
  available: z.nullable(z.boolean()),
  /** What implements the level, or why it is unavailable. */
  detail: z.string(),
  /** What the owner must do to make the level available; empty if no action is needed. */
  repair: z.string(),
})
export type RungView = z.infer<typeof rungViewSchema>

/** The isolation levels of one agent. */
export const agentIsolationSchema = z.strictObject({
  wanted: isolationRungSchema,
  /** The minimum level: below it the agent does not start. */
  required: isolationRungSchema,
  /** The current level; null if the agent does not run, or nothing isolates it. */
  runs_on: z.nullable(isolationRungSchema),
  /** Why the agent runs at a lower level than wanted, or cannot start; null for neither. */
  fallback: z.nullable(z.string()),
})
export type AgentIsolation = z.infer<typeof agentIsolationSchema>
