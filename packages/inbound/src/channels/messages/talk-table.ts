import type { ChannelName } from '@flotilla/protocol/people'
import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { ConversationPlace } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { conversationOf, placeSchema } from '../conversation.ts'

const talkSchema = z.object({ agent_id: z.string().nullable() })
const placeRowSchema = z.object({ place: jsonColumn(placeSchema), sender_id: z.string() })
/** How many conversations of one person are searched for a conversation whose identity is still linked. */
const placesMax = 50

export type TalkTable = ReturnType<typeof createTalkTable>

export interface Talk {
  readonly channel: ChannelName
  /** The person's name in `config/people.json`. */
  readonly person: string
  readonly place: ConversationPlace
}

/**
 * Stores the agent that each person chose in each conversation, and where the person last wrote. `isTheirs` says
 * whether an identity is linked to the person now; a conversation of an unlinked identity gets no more messages.
 */
export function createTalkTable(
  database: Database,
  isTheirs: (channel: string, senderId: string, person: string) => boolean,
) {
  function firstPlace(sql: string, channel: string, person: string): ConversationPlace | null {
    const rows = database.prepare(sql).all(channel, person, placesMax)
    const found = rows
      .map((row) => placeRowSchema.parse(row))
      .find(({ sender_id: senderId }) => isTheirs(channel, senderId, person))
    return found?.place ?? null
  }

  return {
    /** Returns the agent that the person chose in this conversation; null if the person chose no agent. */
    agentOf: ({ channel, person, place }: Talk): string | null => {
      const row = database
        .prepare('SELECT agent_id FROM channel_talks WHERE channel = ? AND person = ? AND conversation = ?')
        .get(channel, person, conversationOf(place))
      return row ? talkSchema.parse(row).agent_id : null
    },
    choose: ({ channel, person, place }: Talk, agentId: string): void => {
      database
        .prepare(
          'UPDATE channel_talks SET agent_id = ? WHERE channel = ? AND person = ? AND conversation = ?',
        )
        .run(agentId, channel, person, conversationOf(place))
    },
    spoke: ({ channel, person, place }: Talk, senderId: string, now: number): void => {
      database
        .prepare(
          `INSERT INTO channel_talks (channel, person, conversation, place, sender_id, spoke_at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (channel, person, conversation) DO UPDATE SET place = excluded.place, sender_id = excluded.sender_id, spoke_at = excluded.spoke_at`,
        )
        .run(channel, person, conversationOf(place), JSON.stringify(place), senderId, now)
    },
    /**
     * True if the identity by which the person last wrote in this conversation is still linked to the person.
     * Otherwise another person might read the outcome.
     */
    isTold: ({ channel, person, place }: Talk): boolean => {
      const row = database
        .prepare(
          'SELECT place, sender_id FROM channel_talks WHERE channel = ? AND person = ? AND conversation = ?',
        )
        .get(channel, person, conversationOf(place))
      return row !== undefined && isTheirs(channel, placeRowSchema.parse(row).sender_id, person)
    },
    /** Returns the last direct conversation of this person; null if none exists. */
    alonePlaceOf: (channel: string, person: string): ConversationPlace | null =>
      firstPlace(
        "SELECT place, sender_id FROM channel_talks WHERE channel = ? AND person = ? AND json_extract(place, '$.isPrivate') ORDER BY spoke_at DESC LIMIT ?",
        channel,
        person,
      ),
    /** Returns the last conversation of this person, direct conversations first; null if none exists. */
    lastPlaceOf: (channel: string, person: string): ConversationPlace | null =>
      firstPlace(
        "SELECT place, sender_id FROM channel_talks WHERE channel = ? AND person = ? ORDER BY json_extract(place, '$.isPrivate') DESC, spoke_at DESC LIMIT ?",
        channel,
        person,
      ),
    forgetAgent: (agentId: string): void => {
      database.prepare('UPDATE channel_talks SET agent_id = NULL WHERE agent_id = ?').run(agentId)
    },
    forgetPerson: (person: string): void => {
      database.prepare('DELETE FROM channel_talks WHERE person = ?').run(person)
    },
    trim: (now: number): void => {
      database
        .prepare('DELETE FROM channel_talks WHERE spoke_at < ?')
        .run(now - channelLimits.talksKeptDays * 24 * 3600 * 1000)
    },
  }
}
