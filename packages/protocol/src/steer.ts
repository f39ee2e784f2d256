import * as z from 'zod/mini'
import { agentIdSchema, idSchema, runIdSchema } from './ids.ts'
import { steerLimits } from './steer-limits.ts'
import { originSchema } from './origin.ts'

/**
 * What someone says to an agent that works. `waiting` until its run has taken it into its conversation (`taken`),
 * or until that run ended first and it is a run of its own (`became-run`).
 */
export const steerStates = ['waiting', 'taken', 'became-run'] as const
export type SteerState = (typeof steerStates)[number]

export const steerIdSchema = idSchema('steer')
export const steerTextSchema = z.string().check(z.minLength(1), z.maxLength(steerLimits.maxChars))

/** A steer as the API shows it. Times are milliseconds since 1970. */
export const steerViewSchema = z.strictObject({
  id: steerIdSchema,
  agent_id: agentIdSchema,
  origin: originSchema,
  text: z.string(),
  state: z.enum(steerStates),
  /** The run that it was attached to; null where the agent was not at work and it was a run from the start. */
  run_id: z.nullable(runIdSchema),
  /** When taken: the last step that the run had made; everything after was done with the words read. */
  step: z.nullable(z.int()),
  became_run_id: z.nullable(runIdSchema),
  created_at: z.number(),
  settled_at: z.nullable(z.number()),
})
export type SteerView = z.infer<typeof steerViewSchema>

/** Who says it, where that is an owner. */
export const steererPerson = 'your user'

/** A steer as its agent gets it. */
export const steerMessageSchema = z.strictObject({
  id: steerIdSchema,
  /** Who says it, in words for the model. */
  from: z.string().check(z.maxLength(100)),
  text: steerTextSchema,
})
export type SteerMessage = z.infer<typeof steerMessageSchema>

export const steerMessagesSchema = z
  .array(steerMessageSchema)
  .check(z.minLength(1), z.maxLength(steerLimits.perRunMax))
