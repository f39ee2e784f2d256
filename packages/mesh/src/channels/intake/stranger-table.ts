import type { ChannelName } from '@flotilla/protocol/people'
import type { Database } from '../../storage/index.ts'
import { channelLimits } from '../channel-limits.ts'

const hourMs = 3600 * 1000

export type StrangerTable = ReturnType<typeof createStrangerTable>

/**
 * Who was told that nobody knows them: once, and then they hear nothing. Where as many were told as are kept, whoever was told
 * first is forgotten, so that a flood of strangers keeps nobody from being told how to be let in for longer than an hour.
 */
export function createStrangerTable(database: Database) {
  const count = (sql: string, ...values: (string | number)[]): number =>
    Number(database.prepare(sql).get(...values)?.['count'] ?? 0)

  function dropOldest(channel: ChannelName): void {
    database
      .prepare(
        'DELETE FROM channel_strangers WHERE channel = ? AND sender_id IN (SELECT sender_id FROM channel_strangers WHERE channel = ? ORDER BY refused_at DESC LIMIT -1 OFFSET ?)',
      )
      .run(channel, channel, channelLimits.strangersMax)
  }

  return {
    /** Whether to tell them; false for one who was told, and while too many were. Joins the caller's transaction. */
    refuse: (channel: ChannelName, senderId: string, now: number): boolean => {
      const lately = count(
        'SELECT count(*) AS count FROM channel_strangers WHERE channel = ? AND refused_at > ?',
        channel,
        now - hourMs,
      )
      if (lately >= channelLimits.strangersToldPerHour) return false
      const isNew =
        database
          .prepare(
            'INSERT OR IGNORE INTO channel_strangers (channel, sender_id, refused_at) VALUES (?, ?, ?)',
          )
          .run(channel, senderId, now).changes === 1
      if (isNew) dropOldest(channel)
      return isNew
    },
    /** They are somebody now; should that end, they are told once more. */
    forget: (channel: ChannelName, senderId: string): void => {
      database
        .prepare('DELETE FROM channel_strangers WHERE channel = ? AND sender_id = ?')
        .run(channel, senderId)
    },
    trim: (now: number): void => {
      database
        .prepare('DELETE FROM channel_strangers WHERE refused_at < ?')
        .run(now - channelLimits.strangersKeptDays * 24 * hourMs)
    },
  }
}
