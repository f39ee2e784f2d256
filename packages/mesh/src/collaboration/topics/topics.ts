import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { topicLimits } from '@flotilla/protocol/topics-api'
import type { EventBus } from '../../events/index.ts'
import type { Journal } from '../../journal/index.ts'
import type { Action, Caller, Decision, Guard } from '../../access/index.ts'
import type { Database } from '../../storage/index.ts'
import { publishSignal } from './publish-signal.ts'
import type { PublishSignal } from './publish-signal.ts'
import { readSignals } from './read-signals.ts'
import type { ReadUnread } from './read-signals.ts'
import { createSubscriptions } from './subscribe-topic.ts'
import type { Subscriptions } from './subscribe-topic.ts'
import { createTopicTable } from './topic-table.ts'
import type { UnreadSignal } from './topic-table.ts'

/** Signals that everybody has read are kept so long for people, and at most so many. */
const keptMs = 7 * 24 * 3600 * 1000
const keptMax = 5000
/** A signal that was given to so many runs is read, however they ended: it must not fail run after run. */
const shownTimesMax = 3
const newestCount = 5
const newestTextMaxChars = 200
const listedMax = 50

export interface UnreadSummary {
  readonly count: number
  /** At most 5, newest first; texts have at most 200 characters. */
  readonly newest: readonly {
    readonly topic: string
    readonly text: string
    readonly from: string
    readonly at: number
  }[]
}

/** What agents say to whoever listens. A signal waits in a box until its agent reads it, and starts no work by itself. */
export interface Topics extends Subscriptions {
  readonly publish: PublishSignal
  readonly read: ReadUnread
  /** The caller's own. */
  mine(caller: Caller): { readonly topics: readonly string[]; readonly unread: number }
  /** For a heartbeat's probe. */
  unreadSignals(agentId: string): UnreadSummary
  /** For whoever may view the fleet. */
  view(caller: Caller): readonly {
    readonly topic: string
    readonly subscribers: readonly string[]
    readonly signals: number
    readonly lastAt: number | null
  }[]
  /** What was said on one topic, newest first. Problem `not-found` where nobody listens and nothing is kept. */
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
  /** In the transaction that settles a run: what it was given is read if it ended well. */
  runSettled(run: { readonly id: string; readonly state: string }): void
  forget(agentId: string): void
  /** All that a project kept here. In the caller's transaction. */
  forgetProject(project: string): void
  /** Deletes what is kept no longer; returns how many. */
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
          detail: `nobody listens to ${topic}, and nothing said on it is kept`,
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
