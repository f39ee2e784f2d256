import type { ChannelName } from '@flotilla/protocol/people'
import type { Database } from '@flotilla/foundation/storage'
import { channelLimits } from '../channel-limits.ts'
import { createRecentIds } from '../recent-ids.ts'

const minuteMs = 60_000
const dayMs = 24 * 3600 * 1000

export type StrangerTable = ReturnType<typeof createStrangerTable>

/**
 * Stores strangers who got the reply that the mesh does not know them. Each stranger gets it once. A full table
 * drops its oldest entry. Half of the replies per minute are reserved for strangers who write again after they
 * were turned away, so that a flood of new names cannot prevent a stranger from learning how to get access.
 */
export function createStrangerTable(database: Database) {
  const turnedAway = createRecentIds(channelLimits.strangersTurnedAwayMax)

  const isNotified = (channel: ChannelName, senderId: string): boolean =>
    database
      .prepare('SELECT 1 AS one FROM channel_strangers WHERE channel = ? AND sender_id = ?')
      .get(channel, senderId) !== undefined

  const notifiedSince = (channel: ChannelName, since: number): number =>
    Number(
      database
        .prepare('SELECT count(*) AS count FROM channel_strangers WHERE refused_at > ? AND channel = ?')
        .get(since, channel)?.['count'] ?? 0,
    )

  function dropOldest(channel: ChannelName): void {
    database
      .prepare(
        'DELETE FROM channel_strangers WHERE channel = ? AND sender_id IN (SELECT sender_id FROM channel_strangers WHERE channel = ? ORDER BY refused_at DESC LIMIT -1 OFFSET ?)',
      )
      .run(channel, channel, channelLimits.strangersMax)
  }

  return {
    /**
     * True if the stranger gets the reply. False if they got it before or too many got it in this minute. Joins the
     * caller's transaction.
     */
    refuse: (channel: ChannelName, senderId: string, now: number): boolean => {
      if (isNotified(channel, senderId)) return false
      const identity = `${channel}:${senderId}`
      const { strangersAnsweredPerMinute: perMinute } = channelLimits
      if (notifiedSince(channel, now - minuteMs) >= (turnedAway.has(identity) ? perMinute : perMinute / 2)) {
        turnedAway.add(identity)
        return false
      }
      database
        .prepare('INSERT INTO channel_strangers (channel, sender_id, refused_at) VALUES (?, ?, ?)')
        .run(channel, senderId, now)
      dropOldest(channel)
      return true
    },
    /** Called when the stranger was linked to a person. If unlinked later, the stranger gets the reply again. */
    forget: (channel: ChannelName, senderId: string): void => {
      database
        .prepare('DELETE FROM channel_strangers WHERE channel = ? AND sender_id = ?')
        .run(channel, senderId)
    },
    trim: (now: number): void => {
      database
        .prepare('DELETE FROM channel_strangers WHERE refused_at < ?')
        .run(now - channelLimits.strangersKeptDays * dayMs)
    },
  }
}
