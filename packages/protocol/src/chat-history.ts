import * as z from 'zod/mini'
import { shownPicturesSchema } from './shown-picture.ts'

/** Longest name of a conversation: what a channel and a person's name there can make. */
export const sessionNameMaxChars = 200

/** The conversation of the person at the terminal. */
export const terminalSession = 'default'

export const sessionNameSchema = z.string().check(z.minLength(1), z.maxLength(sessionNameMaxChars))

/** Most messages of one answer, and the default number. */
export const historyMessages = { max: 500, default: 50 } as const

/** One message as people read it; long texts are cut, and say so. */
export const historyMessageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  text: z.string(),
  /** Tools that the agent called with this answer. */
  calls: z.array(z.strictObject({ name: z.string(), input: z.string() })),
  /** Of a result, where the conversation still names them. */
  pictures: shownPicturesSchema,
})
export type HistoryMessage = z.infer<typeof historyMessageSchema>

/** A conversation as the agent remembers it: messages that were compacted away are in its transcripts. */
export const chatHistorySchema = z.strictObject({
  session: z.string(),
  /** The newest, in their order. */
  messages: z.array(historyMessageSchema),
  /** How many there are; more than are shown where older ones are left out. */
  total: z.int(),
  /** Answers of the model since the last continuation, and how many continuations there were. */
  rounds: z.int(),
  continues: z.int(),
  /** The task that it is about, when it began as one. */
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
  /** How many there are; more than are listed where older ones are left out. */
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
  /** Messages that went into the archive; 0 where there was no conversation. */
  archived_messages: z.int(),
})
export type ChatResetReply = z.infer<typeof chatResetReplySchema>

/** How the words begin that stand in a conversation in place of an answer that did not come. */
export const unansweredMark = '[This turn ended without an answer'
