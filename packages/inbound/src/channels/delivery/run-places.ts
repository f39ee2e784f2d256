import type { ChannelName } from '@flotilla/protocol/people'
import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { ConversationPlace } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { placeSchema } from '../conversation.ts'

const rowSchema = z
  .object({
    run_id: z.string(),
    channel: z.string(),
    person: z.string(),
    agent_id: z.string(),
    place: jsonColumn(placeSchema),
    reply_to: z.string().nullable(),
    live_message_id: z.string().nullable(),
  })
  .transform((row) => ({
    runId: row.run_id,
    channel: row.channel,
    person: row.person,
    agentId: row.agent_id,
    place: row.place,
    replyToId: row.reply_to,
    liveMessageId: row.live_message_id,
  }))
/** The conversation that gets the outcome of a run. */
export type RunPlace = z.infer<typeof rowSchema>

const columns = 'run_id, channel, person, agent_id, place, reply_to, live_message_id'

export type RunPlaces = ReturnType<typeof createRunPlaces>

export function createRunPlaces(database: Database) {
  const count = (where: string, ...values: string[]): number =>
    Number(
      database
        .prepare(`SELECT count(*) AS count FROM channel_runs WHERE ended_at IS NULL ${where}`)
        .get(...values)?.['count'] ?? 0,
    )

  return {
    /** Stores the conversation of a run, in the transaction that submits the run. A repeated run keeps its place. */
    add: (
      place: {
        readonly runId: string
        readonly channel: ChannelName
        readonly person: string
        readonly agentId: string
        readonly place: ConversationPlace
        readonly replyToId: string | null
      },
      now: number,
    ): void => {
      database
        .prepare(
          'INSERT OR IGNORE INTO channel_runs (run_id, channel, person, agent_id, place, reply_to, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          place.runId,
          place.channel,
          place.person,
          place.agentId,
          JSON.stringify(place.place),
          place.replyToId,
          now,
        )
    },
    find: (runId: string): RunPlace | null => {
      const row = database.prepare(`SELECT ${columns} FROM channel_runs WHERE run_id = ?`).get(runId)
      return row ? rowSchema.parse(row) : null
    },
    isOpen: (runId: string): boolean =>
      database
        .prepare('SELECT 1 AS one FROM channel_runs WHERE run_id = ? AND ended_at IS NULL')
        .get(runId) !== undefined,
    ended: (runId: string, now: number): void => {
      database
        .prepare('UPDATE channel_runs SET ended_at = ? WHERE run_id = ? AND ended_at IS NULL')
        .run(now, runId)
    },
    /** Stores the id of the message that shows the run's live text. */
    setLive: (runId: string, messageId: string): void => {
      database.prepare('UPDATE channel_runs SET live_message_id = ? WHERE run_id = ?').run(messageId, runId)
    },
    openOf: (channel: string, person: string): readonly RunPlace[] =>
      database
        .prepare(
          `SELECT ${columns} FROM channel_runs WHERE ended_at IS NULL AND channel = ? AND person = ? ORDER BY created_at`,
        )
        .all(channel, person)
        .map((row) => rowSchema.parse(row)),
    open: (limit: number): readonly RunPlace[] =>
      database
        .prepare(`SELECT ${columns} FROM channel_runs WHERE ended_at IS NULL ORDER BY created_at LIMIT ?`)
        .all(limit)
        .map((row) => rowSchema.parse(row)),
    /** Counts unfinished runs of people on channels, and the other people who have such runs at the agent. */
    shares: (agentId: string, person: string) => ({
      ofPerson: count('AND agent_id = ? AND person = ?', agentId, person),
      ofAgent: count('AND agent_id = ?', agentId),
      ofAll: count(''),
      others: Number(
        database
          .prepare(
            'SELECT count(DISTINCT person) AS count FROM channel_runs WHERE ended_at IS NULL AND agent_id = ? AND person <> ?',
          )
          .get(agentId, person)?.['count'] ?? 0,
      ),
    }),
    trim: (now: number): void => {
      database
        .prepare('DELETE FROM channel_runs WHERE ended_at IS NOT NULL AND created_at < ?')
        .run(now - channelLimits.runsKeptDays * 24 * 3600 * 1000)
    },
  }
}
