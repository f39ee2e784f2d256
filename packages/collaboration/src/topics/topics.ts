import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { topicLimits } from '@flotilla/protocol/topics-api'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { publishSignal } from './publish-signal.ts'
import type { PublishSignal } from './publish-signal.ts'
import { readSignals } from './read-signals.ts'
import type { ReadUnread } from './read-signals.ts'
import { createSubscriptions } from './subscribe-topic.ts'
import type { Subscriptions } from './subscribe-topic.ts'
import { createTopicTable } from './topic-table.ts'
import type { UnreadSignal } from './topic-table.ts'

/** For how long, and how many, signals are kept for people after every subscriber has read them. */
const keptMs = 7 * 24 * 3600 * 1000
const keptMax = 5000
/**
 * A signal that this many runs received counts as read whatever their outcome, so that it cannot make run after run
 * fail.
 */
const shownTimesMax = 3
const newestCount = 5
/** How much of an unread signal the message of a heartbeat shows, in characters. */
const newestTextMaxChars = 200
/** The maximum number of an agent's unread signals in one list. */
const listedMax = 50

export interface UnreadSummary {
  readonly count: number
  /** At most 5 signals, newest first, with at most 200 characters of text. */
  readonly newest: readonly {
    readonly topic: string
    readonly text: string
    readonly from: string
    readonly at: number
  }[]
}

/** Signals between agents by topic. A signal waits in an inbox until its agent reads it and starts no work. */
export interface Topics extends Subscriptions {
  readonly publish: PublishSignal
  readonly read: ReadUnread
  /** The caller's own subscriptions. */
  mine(caller: Caller): { readonly topics: readonly string[]; readonly unread: number }
  /** Returns a summary of the agent's unread signals, for its heartbeat. */
  unreadSignals(agentId: string): UnreadSummary
  /** Lists all topics for callers that may view the fleet. */
  view(caller: Caller): readonly {
    readonly topic: string
    readonly subscribers: readonly string[]
    readonly signals: number
    readonly lastAt: number | null
  }[]
  /** Signals of one topic, newest first. Problem `not-found` if it has no subscribers and no signals. */
  viewTopic(
    caller: Caller,
    topic: string,
  ): {
    readonly subscribers: readonly string[]
    readonly kept: number
    readonly signals: readonly UnreadSignal[]
  }
  viewOf(
    caller: Caller,
    agentId: string,
  ): {
    readonly topics: readonly string[]
    readonly unread: number
    readonly signals: readonly UnreadSignal[]
  }
  /** Marks the received signals as read if the run ended well. Joins the transaction that settles the run. */
  runSettled(run: { readonly id: string; readonly state: string }): void
  forget(agentId: string): void
  /** Deletes all topics of a project. Joins the caller's transaction. */
  forgetProject(project: string): void
  /** Deletes expired signals and returns their number. */
  sweep(): number
}

export function createTopics(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly journal: Journal
  readonly events: EventBus
}): Topics {
  const { database, guard, clock } = deps
  const table = createTopicTable(database)
  return {
    ...createSubscriptions({ ...deps, table }),
    publish: publishSignal({ ...deps, table }),
    read: readSignals({ ...deps, table }),
    mine: (caller) => {
      const agentId = caller.kind === 'agent' ? caller.agentId : ''
      guard(caller, { do: 'act-for-self', agentId })
      return { topics: table.topicsOf(agentId), unread: table.unreadCount(agentId) }
    },
    unreadSignals: (agentId) => ({
      count: table.unreadCount(agentId),
      newest: table.newestUnread(agentId, newestCount).map(({ topic, text, from, at }) => ({
        topic,
        text: truncatePromptText(sanitizeForPrompt(text), newestTextMaxChars, '…'),
        from,
        at,
      })),
    }),
    view: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return table.topics().map((topic) => {
        const { count, lastAt } = table.signalsOn(topic)
        return { topic, subscribers: table.subscribersOf(topic), signals: count, lastAt }
      })
    },
    viewTopic: (caller, topic) => {
      guard(caller, { do: 'view-fleet' })
      const [subscribers, kept] = [table.subscribersOf(topic), table.signalsOn(topic).count]
      if (subscribers.length === 0 && kept === 0) {
        throw new Problem('not-found', {
          detail: `the topic ${topic} has no subscribers and no stored signals`,
        })
      }
      return { subscribers, kept, signals: table.newestOn(topic, topicLimits.shownMax) }
    },
    viewOf: (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      return {
        topics: table.topicsOf(agentId),
        unread: table.unreadCount(agentId),
        signals: table.newestUnread(agentId, listedMax),
      }
    },
    runSettled: ({ id, state }) => table.readBy(id, state === 'done' ? 1 : shownTimesMax),
    forget: (agentId) => database.transaction(() => table.forgetAgent(agentId)),
    forgetProject: (project) => table.forgetBelow(`projects/${project}`),
    sweep: () => table.sweep(clock.now() - keptMs, keptMax),
  }
}
