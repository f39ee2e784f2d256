import type { ChannelName } from '@flotilla/protocol/people'
import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { ChannelButton, ConversationPlace } from '../adapter.ts'
import { hasRoom } from '@flotilla/foundation/intake'
import { channelLimits } from '../channel-limits.ts'
import { conversationOf, placeSchema } from '../conversation.ts'
import { sentFileSchema } from './run-files.ts'
import type { SentFile } from './run-files.ts'

const buttonsSchema = z.array(z.object({ label: z.string(), value: z.string() }))
const letterSchema = z
  .object({
    id: z.number(),
    channel: z.string(),
    conversation: z.string(),
    place: jsonColumn(placeSchema),
    source: z.string(),
    run_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    person: z.string().nullable(),
    sender_id: z.string().nullable(),
    text: z.string(),
    buttons: jsonColumn(buttonsSchema),
    files: jsonColumn(z.array(sentFileSchema)),
    reply_to: z.string().nullable(),
    pieces_out: z.number(),
    begun_piece: z.number().nullable(),
    attempts: z.number(),
    due_at: z.number(),
    created_at: z.number(),
  })
  .transform((row) => ({
    id: row.id,
    channel: row.channel,
    conversation: row.conversation,
    place: row.place,
    source: row.source,
    runId: row.run_id,
    agentId: row.agent_id,
    person: row.person,
    senderId: row.sender_id,
    text: row.text,
    buttons: row.buttons,
    files: row.files,
    replyToId: row.reply_to,
    piecesOut: row.pieces_out,
    begunPiece: row.begun_piece,
    attempts: row.attempts,
    dueAt: row.due_at,
    createdAt: row.created_at,
  }))
/** A message to a person on a channel, as markdown. The letter is sent in as many parts as the platform needs. */
export type Letter = z.infer<typeof letterSchema>

/** Whose letters share one part of a queue: notices to owners, or replies to one person; null for all strangers. */
export type LetterHolder = 'notices' | { readonly person: string | null }

/** `dropped`: the recipient no longer has access. */
export type LetterEnd = 'sent' | 'failed' | 'dropped'

export interface NewLetter {
  readonly channel: ChannelName
  readonly place: ConversationPlace
  /** What the letter is about, such as `run:<id>` or `message:<id>`. A channel gets one letter per source. */
  readonly source: string
  readonly text: string
  readonly runId?: string | null
  /** The agent that wrote the text; null for the mesh. */
  readonly agentId?: string | null
  /** The name of the recipient; null for a stranger. If the recipient's identity changes, the letter is not sent. */
  readonly person?: string | null
  /** The identity that the letter replies to; null if the letter may go to any conversation of the person. */
  readonly senderId?: string | null
  readonly buttons?: readonly ChannelButton[]
  /** Artifacts that are sent after the text. */
  readonly files?: readonly SentFile[]
  readonly replyToId?: string | null
  /** The earliest time to send, in milliseconds since 1970. A delayed letter does not delay others of its place. */
  readonly notBefore?: number
}

const columns =
  'id, channel, conversation, place, source, run_id, agent_id, person, sender_id, text, buttons, files, reply_to, pieces_out, begun_piece, attempts, due_at, created_at'

export type LetterTable = ReturnType<typeof createLetterTable>

/**
 * Stores letters until the platform has confirmed all their parts. Each part is recorded as begun
 * before it is sent, so that after a crash the mesh knows which part may have been delivered.
 */
export function createLetterTable(database: Database) {
  const count = (channel: string): number =>
    Number(
      database
        .prepare("SELECT count(*) AS count FROM channel_letters WHERE channel = ? AND state = 'open'")
        .get(channel)?.['count'] ?? 0,
    )

  return {
    openCount: count,
    /** True if one more letter of a holder may wait on the channel; outcomes of runs are written in any case. */
    hasRoom: (channel: string, holder: LetterHolder): boolean => {
      const isNotice = `source >= 'notice:' AND source < 'notice;'`
      const isOwn = holder === 'notices' ? isNotice : `NOT (${isNotice}) AND run_id IS NULL AND person IS ?`
      const row = database
        .prepare(
          `SELECT count(*) AS total, coalesce(sum(${isOwn}), 0) AS own
           FROM channel_letters WHERE channel = ? AND state = 'open'`,
        )
        .get(...(holder === 'notices' ? [] : [holder.person]), channel)
      const held = z.object({ own: z.number(), total: z.number() }).parse(row)
      return hasRoom(held, channelLimits.openLetters)
    },
    /**
     * Counts the letters whose source has this prefix, written after `since`. `;` follows `:` in the index order and
     * ends the range.
     */
    countSince: (channel: string, sourcePrefix: string, since: number): number =>
      Number(
        database
          .prepare(
            'SELECT count(*) AS count FROM channel_letters WHERE channel = ? AND source >= ? AND source < ? AND created_at > ?',
          )
          .get(channel, sourcePrefix, `${sourcePrefix.slice(0, -1)};`, since)?.['count'] ?? 0,
      ),
    /** Adds a letter. Returns false if the channel already has one of this source. Joins the caller's transaction. */
    add: (letter: NewLetter, now: number): boolean =>
      database
        .prepare(
          `INSERT OR IGNORE INTO channel_letters (channel, conversation, place, source, run_id, agent_id, person, sender_id, text, buttons, files, reply_to, due_at, state, created_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?)`,
        )
        .run(
          letter.channel,
          // The name of the letter's queue. Letters of one queue are sent in order.
          conversationOf(letter.place) + (letter.notBefore === undefined ? '' : ' notices'),
          JSON.stringify(letter.place),
          letter.source,
          letter.runId ?? null,
          letter.agentId ?? null,
          letter.person ?? null,
          letter.senderId ?? null,
          letter.text,
          JSON.stringify(letter.buttons ?? []),
          JSON.stringify(letter.files ?? []),
          letter.replyToId ?? null,
          letter.notBefore ?? now,
          now,
        ).changes === 1,
    /** Returns the oldest unsent letter of each conversation, in the order in which they are due. */
    next: (channel: string, limit: number): readonly Letter[] =>
      database
        .prepare(
          `SELECT ${columns} FROM channel_letters WHERE id IN (
             SELECT min(id) FROM channel_letters WHERE channel = ? AND state = 'open' GROUP BY conversation
           ) ORDER BY due_at, id LIMIT ?`,
        )
        .all(channel, limit)
        .map((row) => letterSchema.parse(row)),
    openOf: (channel: string): readonly Letter[] =>
      database
        .prepare(`SELECT ${columns} FROM channel_letters WHERE channel = ? AND state = 'open' ORDER BY id`)
        .all(channel)
        .map((row) => letterSchema.parse(row)),
    find: (id: number): Letter | null => {
      const row = database.prepare(`SELECT ${columns} FROM channel_letters WHERE id = ?`).get(id)
      return row ? letterSchema.parse(row) : null
    },
    begin: (id: number, piece: number): void => {
      database
        .prepare('UPDATE channel_letters SET begun_piece = ?, attempts = attempts + 1 WHERE id = ?')
        .run(piece, id)
    },
    /** Records how many parts the platform has confirmed, and resets the attempts for the next part. */
    out: (id: number, pieces: number): void => {
      database
        .prepare('UPDATE channel_letters SET pieces_out = ?, begun_piece = NULL, attempts = 0 WHERE id = ?')
        .run(pieces, id)
    },
    /** Postpones a letter until a time. `certain`: the part that was begun was certainly not delivered. */
    postpone: (
      id: number,
      until: number,
      { certain, detail }: { certain: boolean; detail: string },
    ): void => {
      database
        .prepare(
          `UPDATE channel_letters SET due_at = ?, detail = ?, begun_piece = CASE WHEN ? THEN NULL ELSE begun_piece END WHERE id = ? AND state = 'open'`,
        )
        .run(until, detail, certain ? 1 : 0, id)
    },
    settle: (id: number, end: { state: LetterEnd; detail: string; at: number }): void => {
      database
        .prepare('UPDATE channel_letters SET state = ?, detail = ?, settled_at = ? WHERE id = ?')
        .run(end.state, end.detail, end.at, id)
    },
    /** Deletes old letters, including unsent letters of channels that are switched off. */
    trim: (now: number): void => {
      const then = now - channelLimits.lettersKeptDays * 24 * 3600 * 1000
      database.prepare("DELETE FROM channel_letters WHERE state <> 'open' AND settled_at < ?").run(then)
      database.prepare("DELETE FROM channel_letters WHERE state = 'open' AND created_at < ?").run(then)
    },
  }
}
