import * as z from 'zod/mini'
import { agentIdSchema, idSchema, runIdSchema } from './ids.ts'
import { steerLimits } from './steer-limits.ts'
import { originSchema } from './origin.ts'

/**
 * The states of a message to a working agent: `waiting`; `taken` once the run has added the message to its
 * conversation; `became-run` if the run ended first, so that the message became a run of its own; `returned` if the run
 * was cancelled first and a person wrote the message, which then starts nothing.
 */
export const steerStates = ['waiting', 'taken', 'became-run', 'returned'] as const
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
  /** The run that the steer was attached to; null if the agent was idle, so that the steer started a run. */
  run_id: z.nullable(runIdSchema),
  /** For a taken steer: the number of the last step before the run read the steer. */
  step: z.nullable(z.int()),
  became_run_id: z.nullable(runIdSchema),
  created_at: z.number(),
  settled_at: z.nullable(z.number()),
})
export type SteerView = z.infer<typeof steerViewSchema>

/** The author's name for the model if an owner wrote the steer. */
export const steererPerson = 'your user'

/** A steer as its agent gets it. */
export const steerMessageSchema = z.strictObject({
  id: steerIdSchema,
  /** The author of the steer, in words for the model. */
  from: z.string().check(z.maxLength(100)),
  text: steerTextSchema,
})
export type SteerMessage = z.infer<typeof steerMessageSchema>

export const steerMessagesSchema = z
  .array(steerMessageSchema)
  .check(z.minLength(1), z.maxLength(steerLimits.perRunMax))
