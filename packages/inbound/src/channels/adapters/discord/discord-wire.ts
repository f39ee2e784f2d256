import * as z from 'zod'
import { wireList, wireText } from '../wire-text.ts'

/** Limits for parsing one packet of Discord: UTF-16 code units of texts, and items of lists. */
const textMaxChars = 4000
const nameMaxChars = 128
const attachmentsMax = 10
const mentionsMax = 100
const channelsMax = 2000
/** Discord currently puts one message into a forward. */
const snapshotsMax = 10
/** The maximum number of cards in one Discord message. */
const embedsMax = 10

/** A 64-bit id whose upper 42 bits are milliseconds. A later id is greater. */
export const snowflake = z.string().regex(/^[1-9]\d{4,19}$/)

const userSchema = z.looseObject({
  id: snowflake,
  username: wireText(nameMaxChars),
  global_name: wireText(nameMaxChars),
  bot: z.boolean().nullish(),
})

export const readySchema = z.looseObject({
  user: z.looseObject({ id: snowflake }),
  application: z.looseObject({ id: snowflake }),
})

export const channelSchema = z.looseObject({
  id: snowflake,
  type: z.number().int(),
  guild_id: snowflake.nullish(),
  parent_id: snowflake.nullish(),
  owner_id: snowflake.nullish(),
  last_message_id: snowflake.nullish(),
  /** The bot's membership, present only for a thread that the bot has joined. */
  member: z.unknown().optional(),
})
export type DiscordChannel = z.infer<typeof channelSchema>

export const guildSchema = z.looseObject({
  channels: wireList(channelSchema, channelsMax),
  threads: wireList(channelSchema, channelsMax),
})

export const threadMembersSchema = z.looseObject({
  id: snowflake,
  added_members: wireList(z.looseObject({ user_id: snowflake }), channelsMax),
})

export const attachmentSchema = z.looseObject({
  id: snowflake,
  filename: wireText(nameMaxChars),
  content_type: wireText(nameMaxChars),
  size: z.number().int().nonnegative().nullish(),
  url: wireText(2000),
  duration_secs: z.number().nullish(),
})
export type DiscordAttachment = z.infer<typeof attachmentSchema>

export const messageSchema = z.looseObject({
  id: snowflake,
  channel_id: snowflake,
  type: z.number().int(),
  author: userSchema,
  webhook_id: z.string().nullish(),
  /** The value by which Discord deduplicates the message, chosen by the message's sender. */
  nonce: z.string().max(nameMaxChars).nullish().catch(null),
  content: wireText(textMaxChars),
  mentions: wireList(z.looseObject({ id: snowflake }), mentionsMax),
  referenced_message: z
    .looseObject({ author: z.looseObject({ id: snowflake }) })
    .nullish()
    .catch(null),
  attachments: wireList(attachmentSchema, attachmentsMax),
  /** Copies of the forwarded messages. */
  message_snapshots: wireList(
    z.looseObject({
      message: z.looseObject({
        content: wireText(textMaxChars),
        attachments: wireList(attachmentSchema, attachmentsMax),
        /** The cards that programs write in place of text. */
        embeds: wireList(
          z.looseObject({ title: wireText(textMaxChars), description: wireText(textMaxChars) }),
          embedsMax,
        ),
      }),
    }),
    snapshotsMax,
  ),
})
export type DiscordMessage = z.infer<typeof messageSchema>

/** The fields that are needed to skip an unreadable message. */
export const messageHeadSchema = z.looseObject({ id: snowflake, channel_id: snowflake })

export const interactionSchema = z.looseObject({
  id: snowflake,
  application_id: snowflake,
  token: z.string().min(1).max(500),
  /** 2 for a command, 3 for a button. */
  type: z.union([z.literal(2), z.literal(3)]),
  guild_id: snowflake.nullish(),
  channel_id: snowflake,
  member: z.looseObject({ user: userSchema }).nullish(),
  user: userSchema.nullish(),
  data: z.looseObject({
    name: wireText(nameMaxChars),
    options: wireList(z.looseObject({ name: wireText(nameMaxChars), value: z.unknown().optional() }), 25),
    custom_id: wireText(100),
  }),
})
export type DiscordInteraction = z.infer<typeof interactionSchema>

export const sentSchema = z.looseObject({ id: snowflake })
