import * as z from 'zod'
import { wireList, wireText } from '../wire-text.ts'

/** Limits for parsing one event of Slack: UTF-16 code units of texts, and items of lists. */
const textMaxChars = 40_000
/** The maximum length of a type or name of a file in a Slack event, in characters. */
const nameMaxChars = 128
/** The maximum number of files that are read of one Slack message. */
const attachmentsMax = 10

const id = z.string().regex(/^[A-Z0-9]{2,24}$/)
const timestamp = z.string().regex(/^\d{1,16}\.\d{1,10}$/)

export const slackFileSchema = z.looseObject({
  id,
  name: wireText(nameMaxChars),
  mimetype: wireText(nameMaxChars),
  subtype: wireText(nameMaxChars),
  size: z.number().int().nonnegative().nullish(),
  /** Who uploaded the file. */
  user: id.nullish().catch(null),
  url_private_download: wireText(2000),
  url_private: wireText(2000),
})
export type SlackFile = z.infer<typeof slackFileSchema>

/** The events `message` and `app_mention` of the Events API. */
export const messageEventSchema = z.looseObject({
  type: z.enum(['message', 'app_mention']),
  subtype: z.string().nullish(),
  user: id,
  bot_id: z.string().nullish(),
  channel: id,
  channel_type: z.string().nullish(),
  team: id.nullish().catch(null),
  ts: timestamp,
  thread_ts: timestamp.nullish(),
  text: wireText(textMaxChars),
  files: wireList(slackFileSchema, attachmentsMax),
  /** Attachments: shared messages, link previews and additions of apps. */
  attachments: wireList(
    z.looseObject({
      is_share: z.boolean().nullish(),
      is_msg_unfurl: z.boolean().nullish(),
      text: wireText(textMaxChars),
      /** A short version of the text, if the message consists of blocks only. */
      fallback: wireText(textMaxChars),
      author_name: wireText(nameMaxChars),
      files: wireList(slackFileSchema, attachmentsMax),
    }),
    attachmentsMax,
  ),
})

export type SlackMessageEvent = z.infer<typeof messageEventSchema>

export const eventCallbackSchema = z.looseObject({ team_id: id, event: messageEventSchema })

/** A changed channel id: a channel that is shared with another workspace may get another id. */
export const channelMovedSchema = z.looseObject({
  event: z.looseObject({ type: z.literal('channel_id_changed'), old_channel_id: id, new_channel_id: id }),
})

export const slashCommandSchema = z.looseObject({
  command: z.string().max(64),
  text: wireText(textMaxChars),
  team_id: id,
  user_id: id,
  user_name: wireText(nameMaxChars),
  channel_id: id,
  trigger_id: z.string().min(1).max(128),
})

export const blockActionsSchema = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({ id, team_id: id.nullish(), username: wireText(nameMaxChars) }),
  team: z.looseObject({ id }),
  channel: z.looseObject({ id }),
  message: z.looseObject({ ts: timestamp, thread_ts: timestamp.nullish() }),
  actions: z
    .array(z.looseObject({ action_ts: z.string().max(40), value: z.string().max(2000) }))
    .min(1)
    .max(25),
})

export const authTestSchema = z.looseObject({ team_id: id, user_id: id })
export const userInfoSchema = z.looseObject({
  user: z.looseObject({
    real_name: wireText(nameMaxChars),
    name: wireText(nameMaxChars),
    profile: z.looseObject({ display_name: wireText(nameMaxChars) }).nullish(),
  }),
})
export const repliesSchema = z.looseObject({
  messages: wireList(z.looseObject({ user: wireText(nameMaxChars), text: wireText(textMaxChars) }), 200),
})
/** A message of `conversations.history` or `conversations.replies`. It is parsed further as an event. */
const historyMessageSchema = z.looseObject({
  ts: timestamp,
  reply_count: z.number().nullish(),
  latest_reply: timestamp.nullish().catch(null),
})
export type HistoryMessage = z.infer<typeof historyMessageSchema>
const nextPage = z.looseObject({ next_cursor: z.string().max(1000).nullish() }).nullish()
export const historySchema = z.looseObject({
  messages: wireList(historyMessageSchema, 1000),
  response_metadata: nextPage,
})
export const channelListSchema = z.looseObject({
  channels: wireList(z.looseObject({ id }), 1000),
  response_metadata: nextPage,
})
export const postedSchema = z.looseObject({ ts: timestamp })
export const uploadedSchema = z.looseObject({
  files: z.array(z.looseObject({ files: z.array(z.looseObject({ id })).min(1) })).min(1),
})
