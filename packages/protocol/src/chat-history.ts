import * as z from 'zod/mini'
import { runIdSchema } from './ids.ts'
import { shownPicturesSchema } from './shown-picture.ts'

/** The maximum length of a conversation's name; a channel and a person's name in it must fit. */
export const sessionNameMaxChars = 200

/** The name of the conversation of the person at the terminal. */
export const terminalSession = 'default'

export const sessionNameSchema = z.string().check(z.minLength(1), z.maxLength(sessionNameMaxChars))

/** Maximum and default number of messages in one response. */
export const historyMessages = { max: 500, default: 50 } as const

/**
 * How a tool call ended, if it did not succeed: it `failed`; it was `stopped` with its run, and its outcome is
 * unknown; or its run ended before the call was made (`not-made`).
 */
export const callEnds = ['failed', 'stopped', 'not-made'] as const
export type CallEnd = (typeof callEnds)[number]

export function isCallEnd(value: unknown): value is CallEnd {
  return (callEnds as readonly unknown[]).includes(value)
}

/** One message as people read it; a long text is cut, with a note. */
export const historyMessageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  text: z.string(),
  /** Tools that the agent called with this answer. */
  calls: z.array(z.strictObject({ name: z.string(), input: z.string() })),
  /** Pictures of a tool result, while the conversation still refers to them. */
  pictures: shownPicturesSchema,
  /** The run to which the message belongs; absent in conversations that older releases stored. */
  run_id: z.optional(runIdSchema),
  /** For a result: how its call ended; absent if the call succeeded. */
  ended: z.optional(z.enum(callEnds)),
  /** True for a message that reached the run while the run worked. */
  steered: z.optional(z.boolean()),
  /**
   * For the last message of a turn without a complete answer: the reason. `text` is the text that was streamed until
   * then.
   */
  unanswered: z.optional(z.string()),
})
export type HistoryMessage = z.infer<typeof historyMessageSchema>

/** A conversation in the agent's memory; older messages that were compacted are in the agent's transcripts. */
export const chatHistorySchema = z.strictObject({
  session: z.string(),
  /** The newest messages, in their order. */
  messages: z.array(historyMessageSchema),
  /** The number of all messages; more than are shown if older ones are omitted. */
  total: z.int(),
  /** The model's answers since the last continuation, and how many continuations there were. */
  rounds: z.int(),
  continues: z.int(),
  /** The task of the conversation, if it began as a task. */
  task_id: z.nullable(z.string()),
})
export type ChatHistory = z.infer<typeof chatHistorySchema>

export const chatSessionSchema = z.strictObject({
  session: z.string(),
  messages: z.int(),
  /** Milliseconds since 1970. */
  updated_at: z.number(),
  task_id: z.nullable(z.string()),
})

/** Newest first. */
export const chatSessionsSchema = z.strictObject({
  sessions: z.array(chatSessionSchema),
  /** The number of all conversations; more than are listed if older ones are omitted. */
  total: z.int(),
})
export type ChatSessions = z.infer<typeof chatSessionsSchema>

export const historyQuerySchema = z.strictObject({
  session: z._default(sessionNameSchema, terminalSession),
  limit: z._default(
    z.coerce.number().check(z.minimum(1), z.maximum(historyMessages.max)),
    historyMessages.default,
  ),
})

export const chatResetReplySchema = z.strictObject({
  session: z.string(),
  /** Messages that were archived; 0 if the conversation did not exist. */
  archived_messages: z.int(),
})
export type ChatResetReply = z.infer<typeof chatResetReplySchema>

/** The beginning of the text that ends a turn without a whole answer. */
export const unansweredMark = '[This turn ended without an answer'

/**
 * Returns the last message of a turn that ended without a complete answer: the text until then, and the reason. Pure.
 */
export function unansweredText(partialAnswer: string, reason: string): string {
  return `${partialAnswer === '' ? '' : `${partialAnswer}\n\n`}${unansweredMark}: ${reason}]`
}

/** Splits such a message again; null for any other text. Pure. */
export function readUnanswered(
  text: string,
): { readonly partialAnswer: string; readonly reason: string } | null {
  const at = text.lastIndexOf(unansweredMark)
  const isEnd = at === 0 || (at > 1 && text.slice(at - 2, at) === '\n\n')
  if (!isEnd || !text.endsWith(']')) return null
  const reason = text.slice(at + unansweredMark.length, -1).replace(/^:\s*/, '')
  return { partialAnswer: text.slice(0, Math.max(0, at - 2)), reason }
}
