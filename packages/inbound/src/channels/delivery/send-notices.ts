import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Settings } from '@flotilla/foundation/config'
import type { EventBus } from '@flotilla/foundation/events'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import { channelLimits } from '../channel-limits.ts'
import { conversationOf } from '../conversation.ts'
import type { TalkTable } from '../messages/talk-table.ts'
import type { LetterTable } from '../messages/letter-table.ts'
import { noticeOf, sendAt } from './notice-text.ts'
import type { Notice } from './notice-text.ts'

const hourMs = 3600 * 1000
/** The text below the last notice of a kind that an agent may cause in an hour. */
const more =
  '\n(Further notices of this kind from this agent are paused here for up to an hour; the dashboard shows all.)'

/** How many notices of an hour are reserved for agents that caused none before, so that no agent hides others. */
const ofOthers = Math.floor(channelLimits.noticesPerHour / 4)
const perAgentMax = channelLimits.noticesPerHour - ofOthers

/** The prefix of the source of unrequested letters to owners. */
export const noticePrefix = 'notice:'

/** The maximum number of events that are read in one page. */
const pageEvents = 500

export interface SendNotices {
  /** Writes letters about all events that were not processed yet. */
  readonly catchUp: () => void
  readonly close: () => void
}

/**
 * Sends owners notices on the channels that they chose. Letters and the sequence number of the last processed event
 * are one transaction, so that each event is processed once, over restarts too. Equal notices are sent once a day.
 */
export function createSendNotices(deps: {
  readonly database: Database
  readonly events: Pick<EventBus, 'since' | 'lastSeq' | 'droppedUntil' | 'subscribe'>
  readonly letters: LetterTable
  readonly talks: Pick<TalkTable, 'alonePlaceOf'>
  readonly ownersOn: (channel: ChannelName) => readonly string[]
  readonly settings: () => Settings['channels']['notices']
  /** The address of the dashboard. */
  readonly dashboard: () => string
  readonly wake: (channel: ChannelName) => void
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly clock: Clock
  readonly log: Log
}): SendNotices {
  const { database, events, letters, clock } = deps

  /** Returns the number of the last processed event. At the first start, earlier events count as processed. */
  function position(): number {
    const row = database.prepare('SELECT seq FROM channel_notices').get()
    const last = events.lastSeq()
    // A stored number above the last event is from an earlier database: numbers start again with a new database.
    return row ? Math.min(last, Math.max(Number(row['seq']), events.droppedUntil())) : last
  }

  function write({ kind, agentId, by, text, about: subject }: Notice): void {
    const { to, about, quiet_hours: quiet } = deps.settings()
    if (!about.includes(kind)) return
    const now = clock.now()
    const day = new Date(now).toISOString().slice(0, 10)
    for (const channel of to) {
      if (!letters.hasRoom(channel, 'notices')) continue
      for (const person of deps.ownersOn(channel)) {
        const place = deps.talks.alonePlaceOf(channel, person)
        if (place === null) continue
        const ofKind = `${noticePrefix}${kind}:${markOf(conversationOf(place))}:`
        const source = `${ofKind}${markOf(rootOf(deps.identityEvents, by ?? ''))}:`
        const sentCount = letters.countSince(channel, ofKind, now - hourMs)
        const ofAgent = letters.countSince(channel, source, now - hourMs)
        if (sentCount >= (ofAgent === 0 ? channelLimits.noticesPerHour : perAgentMax)) continue
        const mark = markOf(`${day} ${agentId ?? ''} ${subject}`)
        const isLast = sentCount >= perAgentMax - 1
        const letter = {
          channel,
          place,
          source: source + mark,
          agentId,
          person,
          text: isLast ? text + more : text,
        }
        letters.add({ ...letter, notBefore: sendAt(now, quiet) }, now)
      }
      database.afterCommit(() => deps.wake(channel))
    }
  }

  function catchUp(): void {
    for (;;) {
      const isLast = database.transaction(() => {
        const from = position()
        const page = events.since(from, pageEvents)
        for (const { body } of page) {
          const notice = noticeOf(body, deps.dashboard())
          if (notice) write(notice)
        }
        const until = page.length < pageEvents ? events.lastSeq() : (page.at(-1)?.seq ?? from)
        database
          .prepare(
            'INSERT INTO channel_notices (one, seq) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq',
          )
          .run(until)
        return page.length < pageEvents
      })
      if (isLast) return
    }
  }

  const close = events.subscribe(({ body }) => {
    if (noticeOf(body, deps.dashboard()) === null) return
    try {
      catchUp()
    } catch (error) {
      deps.log.error(
        { err: error },
        'failed to notify owners of an event; it is included in the next notification',
      )
    }
  })
  return { catchUp, close }
}

/** Returns a short key of a text, for the source of a letter. Pure. */
function markOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
