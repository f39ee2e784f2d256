import * as z from 'zod/mini'

/**
 * What may stand between an agent and the machine's kernel, the weaker first: a `container` shares it behind a filter of
 * system calls, behind `gvisor` a program answers them as a kernel of its own, and a `microvm` is a machine of its own.
 */
export const isolationRungs = ['container', 'gvisor', 'microvm'] as const
export type IsolationRung = (typeof isolationRungs)[number]
export const isolationRungSchema = z.enum(isolationRungs)

/** Where the rung cannot be had: a `preferred` one falls back to what must be, a `required` one is not done without. */
export const isolationModes = ['preferred', 'required'] as const
export type IsolationMode = (typeof isolationModes)[number]
export const isolationModeSchema = z.enum(isolationModes)

/** What an agent is to run on. */
export interface IsolationWish {
  readonly wanted: IsolationRung
  /** Below this it does not run. Never above `wanted`. */
  readonly floor: IsolationRung
}

export const isWeaker = (one: IsolationRung, other: IsolationRung): boolean =>
  isolationRungs.indexOf(one) < isolationRungs.indexOf(other)

export const strongerRung = (one: IsolationRung, other: IsolationRung): IsolationRung =>
  isWeaker(one, other) ? other : one

/** How agents run on a rung now, for those who look. */
export const rungViewSchema = z.strictObject({
  rung: isolationRungSchema,
  /** Null where nobody has asked for it since the engine is there. */
  available: z.nullable(z.boolean()),
  /** What it is made of, or why it cannot be had. */
  detail: z.string(),
  /** What the owner does about it; empty where nothing is to be done. */
  repair: z.string(),
})
export type RungView = z.infer<typeof rungViewSchema>

/** What one agent runs on. */
export const agentIsolationSchema = z.strictObject({
  wanted: isolationRungSchema,
  /** Below this it does not run. */
  required: isolationRungSchema,
  /** Null where it does not run, or nothing isolates it. */
  runs_on: z.nullable(isolationRungSchema),
  /** Why it runs on less than wanted, or cannot be started; null for neither. */
  fallback: z.nullable(z.string()),
})
export type AgentIsolation = z.infer<typeof agentIsolationSchema>
