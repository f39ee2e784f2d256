import * as z from 'zod/mini'
import type { EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, idSchema, runIdSchema } from './ids.ts'
import type { MessageAgentEndpointName, MessageHumanEndpointName } from './message-endpoints.ts'
import { capabilityPrefix, messageLimits } from './message-limits.ts'
import { terminalRunStates } from './run.ts'

/**
 * `sent` while a run of the recipient works on the message, `answered` once that run has ended, and `kept` while the
 * message waits for the operator's next heartbeat. A kept message gets no answer.
 */
export const messageStates = ['sent', 'kept', 'answered'] as const
export type MessageState = (typeof messageStates)[number]

export const capabilitySchema = z
  .string()
  .check(
    z.maxLength(messageLimits.capabilityMaxChars),
    z.regex(/^[a-z0-9][a-z0-9_.-]*$/, 'a capability is lower-case letters, digits and _ . -'),
  )

const addressedSchema = z.string().check(
  z.maxLength(capabilityPrefix.length + messageLimits.capabilityMaxChars),
  z.refine(
    (to) =>
      to.startsWith(capabilityPrefix)
        ? z.safeParse(capabilitySchema, to.slice(capabilityPrefix.length)).success
        : z.safeParse(agentIdSchema, to).success,
    `the id of an agent, or ${capabilityPrefix} and a name of lower-case letters, digits and _ . -`,
  ),
)

/** A message as the API shows it. Times are milliseconds since 1970. */
export const messageViewSchema = z.strictObject({
  id: idSchema('msg'),
  from: agentIdSchema,
  /** The agent that received the message, whatever it was addressed to. */
  to: agentIdSchema,
  /** The capability that the message was addressed to; null if it was addressed to an agent. */
  capability: z.nullable(capabilitySchema),
  text: z.string(),
  state: z.enum(messageStates),
  /** The run that works on the message; for a kept one, the heartbeat that received it, or null. */
  run_id: z.nullable(runIdSchema),
  answer: z.nullable(z.strictObject({ state: z.enum(terminalRunStates), text: z.string() })),
  created_at: z.number(),
  answered_at: z.nullable(z.number()),
})
export type MessageView = z.infer<typeof messageViewSchema>

/** A message as its sender sees it. */
const sentSchema = z.omit(messageViewSchema, { from: true, text: true, created_at: true, answered_at: true })
export type SentMessage = z.infer<typeof sentSchema>

export const messageAgentApi = {
  messageSend: {
    request: z.strictObject({
      to: addressedSchema,
      text: z.string().check(z.minLength(1), z.maxLength(messageLimits.textMaxChars)),
    }),
    response: sentSchema,
  },
  messageAwait: {
    request: z.strictObject({
      wait_seconds: z.number().check(z.minimum(0), z.maximum(messageLimits.waitMaxSeconds)),
    }),
    response: sentSchema,
  },
  capabilitiesDeclare: {
    request: z.strictObject({
      capabilities: z.array(capabilitySchema).check(z.maxLength(messageLimits.capabilitiesPerAgentMax)),
    }),
    response: z.strictObject({ capabilities: z.array(capabilitySchema) }),
  },
} as const satisfies Record<MessageAgentEndpointName, EndpointSchemas>

export const messageHumanApi = {
  messages: {
    query: z.strictObject({
      /** Only messages from or to this agent. */
      agent: z.optional(agentIdSchema),
      limit: z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 50),
    }),
    response: z.strictObject({ messages: z.array(messageViewSchema) }),
  },
} as const satisfies Record<MessageHumanEndpointName, EndpointSchemas>
