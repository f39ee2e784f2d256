import type { ChannelName } from '@flotilla/protocol/people'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { channelLimits } from '../channel-limits.ts'
import { conversationOf } from '../conversation.ts'
import type { PlainMessage } from './plain-message.ts'
import { plainMessageSchema } from './plain-message.ts'
import { jsonColumn } from '@flotilla/foundation/storage'

/**
 * What a message became. `limited` and `refused` messages got a reply or none. A `files` message waits for its files
 * and changes afterwards. An `album` message was merged into another message. A `notice` was reported to the owners.
 */
export type Became =
  | 'files'
  | 'album'
  | 'notice'
  | 'run'
  | 'steer'
  | 'command'
  | 'paired'
  | 'refused'
  | 'limited'

export interface TakenMessage {
  readonly channel: ChannelName
  readonly messageId: string
  readonly senderId: string
  readonly became: Became
  readonly runId?: string | null
  /** The work that remains after the row was written. */
  readonly open?: PlainMessage | FileWork
  readonly at: number
}

/** A message that waits for its files, and its agent. */
const fileWorkSchema = z.object({
  message: plainMessageSchema,
  agentId: z.string(),
  text: z.string(),
  /**
   * For the first message of an album: until when it accepts more messages, in milliseconds since
   * 1970. The album's files are fetched only after that time.
   */
  album: z.object({ since: z.number(), until: z.number() }).nullable().default(null),
})
export type FileWork = z.infer<typeof fileWorkSchema>

const dayMs = 24 * 3600 * 1000
const fileRowSchema = z.object({ open: jsonColumn(fileWorkSchema) })
const openSchema = z.object({ channel: z.string(), open: jsonColumn(plainMessageSchema) })

export type MessageTable = ReturnType<typeof createMessageTable>

/** Stores received messages by the platform's ids, so that redelivery is recognized after a restart too. */
export function createMessageTable(database: Database) {
  return {
    isTaken: (channel: ChannelName, messageId: string): boolean =>
      database
        .prepare('SELECT 1 AS one FROM channel_messages WHERE channel = ? AND message_id = ?')
        .get(channel, messageId) !== undefined,
    /** Stores a message. False if it is stored already: the caller must then stop. Joins the caller's transaction. */
    take: (message: TakenMessage): boolean =>
      database
        .prepare(
          'INSERT OR IGNORE INTO channel_messages (channel, message_id, sender_id, became, run_id, open, received_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          message.channel,
          message.messageId,
          message.senderId,
          message.became,
          message.runId ?? null,
          message.open === undefined ? null : JSON.stringify(message.open),
          message.at,
        ).changes === 1,
    /** Returns the messages that a previous process stored and did not finish, oldest first. */
    open: (limit: number): readonly { readonly channel: string; readonly open: PlainMessage }[] =>
      database
        .prepare(
          "SELECT channel, open FROM channel_messages WHERE open IS NOT NULL AND became <> 'files' ORDER BY received_at LIMIT ?",
        )
        .all(limit)
        .map((row) => openSchema.parse(row)),
    /** Returns the oldest message with files of each person, except the people in `busy`. */
    nextFiles: (channel: ChannelName, busy: readonly string[], limit: number): readonly FileWork[] =>
      database
        .prepare(
          `SELECT open, min(received_at) AS first FROM channel_messages
           WHERE channel = ? AND open IS NOT NULL AND became = 'files' AND sender_id NOT IN (SELECT value FROM json_each(?))
           GROUP BY sender_id ORDER BY first LIMIT ?`,
        )
        .all(channel, JSON.stringify(busy), limit)
        .map((row) => fileRowSchema.parse(row).open),
    /** Returns how many messages wait for files: of the channel, and of this sender. */
    openFiles: (channel: ChannelName, senderId: string): { readonly all: number; readonly own: number } => {
      const row = database
        .prepare(
          "SELECT count(*) AS all_of_them, count(*) FILTER (WHERE sender_id = ?) AS own FROM channel_messages WHERE channel = ? AND open IS NOT NULL AND became = 'files'",
        )
        .get(senderId, channel)
      return { all: Number(row?.['all_of_them'] ?? 0), own: Number(row?.['own'] ?? 0) }
    },
    /** Returns the first message of the same album, while the album accepts more messages; otherwise null. */
    openAlbum: (
      channel: ChannelName,
      { senderId, albumId, place }: Pick<PlainMessage, 'senderId' | 'albumId' | 'place'>,
      now: number,
    ): FileWork | null => {
      if (albumId === null) return null
      const here = conversationOf(place)
      const found = database
        .prepare(
          "SELECT open FROM channel_messages WHERE channel = ? AND sender_id = ? AND became = 'files' AND json_extract(open, '$.message.albumId') = ? AND json_extract(open, '$.album.until') > ?",
        )
        .all(channel, senderId, albumId, now)
        .map((row) => fileRowSchema.parse(row).open)
      return found.find(({ message }) => conversationOf(message.place) === here) ?? null
    },
    /** Updates the first message of an album after another message joined. Joins the caller's transaction. */
    changeAlbum: (channel: ChannelName, work: FileWork): void => {
      database
        .prepare('UPDATE channel_messages SET open = ? WHERE channel = ? AND message_id = ?')
        .run(JSON.stringify(work), channel, work.message.id)
    },
    /** Reopens albums that a previous process received in part: the platform redelivers their other messages. */
    gatherAgain: (album: NonNullable<FileWork['album']>): void => {
      database
        .prepare(
          "UPDATE channel_messages SET open = json_set(open, '$.album', json(?)) WHERE open IS NOT NULL AND became = 'files' AND json_extract(open, '$.album.until') IS NOT NULL",
        )
        .run(JSON.stringify(album))
    },
    /** Ends a message's wait for files. False if the wait had ended before. Joins the caller's transaction. */
    filesOver: (
      { channel, messageId }: Pick<TakenMessage, 'channel' | 'messageId'>,
      became: Became,
      runId: string | null = null,
    ): boolean =>
      database
        .prepare(
          "UPDATE channel_messages SET became = ?, run_id = ?, open = NULL WHERE channel = ? AND message_id = ? AND became = 'files'",
        )
        .run(became, runId, channel, messageId).changes === 1,
    done: (channel: string, messageId: string): void => {
      database
        .prepare('UPDATE channel_messages SET open = NULL WHERE channel = ? AND message_id = ?')
        .run(channel, messageId)
    },
    trim: (now: number): void => {
      database
        .prepare('DELETE FROM channel_messages WHERE open IS NULL AND received_at < ?')
        .run(now - channelLimits.messagesKeptDays * dayMs)
      database
        .prepare(
          'DELETE FROM channel_messages WHERE open IS NULL AND received_at < (SELECT received_at FROM channel_messages ORDER BY received_at DESC LIMIT 1 OFFSET ?)',
        )
        .run(channelLimits.messagesKeptMax)
    },
  }
}
