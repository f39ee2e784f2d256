import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import type { ChannelAdapter, ConversationPlace, MovedConversation } from './adapter.ts'

/**
 * Conversations to which the platform gave another id. Rows, sessions and choices keep the first id, so that
 * no data has to be moved. Incoming messages are mapped to the first id, outgoing messages to the newest.
 */
export interface ConversationMoves {
  /** Stores a move. Returns false if the move is already stored. Joins the caller's transaction. */
  readonly add: (channel: ChannelName, moved: MovedConversation, now: number) => boolean
  readonly first: (channel: ChannelName, place: ConversationPlace) => ConversationPlace
  readonly newest: (channel: ChannelName, place: ConversationPlace) => ConversationPlace
}

export function createConversationMoves(database: Database): ConversationMoves {
  function firstOf(channel: ChannelName, id: string): string {
    const row = database
      .prepare('SELECT first_id FROM channel_moves WHERE channel = ? AND conversation_id = ?')
      .get(channel, id)
    return row === undefined ? id : String(row['first_id'])
  }

  function newestOf(channel: ChannelName, id: string): string {
    const row = database
      .prepare(
        'SELECT conversation_id FROM channel_moves WHERE channel = ? AND first_id = ? ORDER BY seq DESC LIMIT 1',
      )
      .get(channel, firstOf(channel, id))
    return row === undefined ? id : String(row['conversation_id'])
  }

  return {
    add: (channel, { from, to }, now) => {
      const first = firstOf(channel, from)
      // Ignores a move that would create a cycle.
      if (firstOf(channel, to) === first) return false
      return (
        database
          .prepare(
            'INSERT OR IGNORE INTO channel_moves (channel, conversation_id, first_id, moved_at) VALUES (?, ?, ?, ?)',
          )
          .run(channel, to, first, now).changes === 1
      )
    },
    first: (channel, place) => ({ ...place, conversationId: firstOf(channel, place.conversationId) }),
    newest: (channel, place) => ({ ...place, conversationId: newestOf(channel, place.conversationId) }),
  }
}

/** Stores a move and its audit record together, once. */
export function createKeepMove(deps: {
  readonly database: Database
  readonly journal: Journal
  readonly moves: Pick<ConversationMoves, 'add'>
  readonly clock: Clock
  /** Called after a move: letters that wait for the conversation can be sent now. */
  readonly wake: (channel: ChannelName) => void
}): (channel: ChannelName, moved: MovedConversation) => void {
  const { database, journal, moves, clock } = deps
  return (channel, { from, to }) =>
    database.transaction(() => {
      if (!moves.add(channel, { from, to }, clock.now())) return
      const subject = `${channel}:${from}`
      journal.append({ actor: 'system', action: 'channel.conversation-moved', subject, detail: { to } })
      database.afterCommit(() => deps.wake(channel))
    })
}

/** Wraps an adapter so that each call uses the newest id of the conversation. */
export function sendingToNewest(
  adapter: ChannelAdapter,
  moves: Pick<ConversationMoves, 'newest'>,
): ChannelAdapter {
  const { edit, upload, showTyping } = adapter
  const to = <T extends { readonly place: ConversationPlace }>(what: T): T => ({
    ...what,
    place: moves.newest(adapter.name, what.place),
  })
  return {
    ...adapter,
    send: (message, signal) => adapter.send(to(message), signal),
    ...(edit === undefined ? {} : { edit: (edited, signal) => edit(to(edited), signal) }),
    ...(upload === undefined ? {} : { upload: (file, signal) => upload(to(file), signal) }),
    ...(showTyping === undefined
      ? {}
      : { showTyping: (place) => showTyping(moves.newest(adapter.name, place)) }),
  }
}
