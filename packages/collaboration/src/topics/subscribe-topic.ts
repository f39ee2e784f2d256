import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { topicLimits } from '@flotilla/protocol/topics-api'
import type { EventBus } from '@flotilla/foundation/events'
import { hasRoom } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { requireTopic } from './publish-signal.ts'
import type { TopicTable } from './topic-table.ts'

/**
 * Manages an agent's own subscriptions, by exact names; each answer lists all of them. Repeating a call changes
 * nothing. Problems `denied`, `bad-request`, `unprocessable` at a limit.
 */
export interface Subscriptions {
  subscribe(caller: Caller, topic: string): readonly string[]
  unsubscribe(caller: Caller, topic: string): readonly string[]
}

export function createSubscriptions(deps: {
  readonly database: Database
  readonly table: TopicTable
  readonly guard: Guard
  readonly clock: Clock
  readonly journal: Journal
  readonly events: EventBus
}): Subscriptions {
  const { database, table, guard } = deps

  function publishChange(
    caller: Caller,
    topic: string,
    type: 'topic.subscribed' | 'topic.unsubscribed',
  ): void {
    const agentId = agentOf(caller)
    deps.journal.append({ actor: actorOf(caller), action: type, subject: topic, detail: {} })
    deps.events.publish({ type, topic, agent_id: agentId })
  }

  return {
    subscribe: (caller, topic) => {
      guard(caller, { do: 'subscribe-topic', topic })
      const agentId = agentOf(caller)
      requireTopic(topic)
      return database.transaction(() => {
        const topics = table.topicsOf(agentId)
        if (topics.includes(topic)) return topics
        if (topics.length >= topicLimits.subscriptionsPerAgentMax) {
          throw full(
            `an agent has at most ${topicLimits.subscriptionsPerAgentMax} subscriptions; end another subscription first`,
          )
        }
        const rows = { own: topics.length, total: table.topicCount() }
        if (!table.isSubscribedTo(topic) && !hasRoom(rows, topicBounds)) {
          throw full(`the fleet has at most ${topicLimits.topicsMax} topics with subscribers`)
        }
        table.subscribe(agentId, topic, deps.clock.now())
        publishChange(caller, topic, 'topic.subscribed')
        return table.topicsOf(agentId)
      })
    },
    // An agent without the permission to subscribe can still unsubscribe.
    unsubscribe: (caller, topic) => {
      guard(caller, { do: 'act-for-self', agentId: agentOf(caller) })
      return database.transaction(() => {
        if (table.unsubscribe(agentOf(caller), topic)) publishChange(caller, topic, 'topic.unsubscribed')
        return table.topicsOf(agentOf(caller))
      })
    },
  }
}

/** Limits the topics with subscribers; an agent without any subscription can always add one subscription. */
const topicBounds = {
  max: topicLimits.topicsMax,
  perAgentMax: topicLimits.subscriptionsPerAgentMax,
  floor: 1,
} as const

/** Only agents have an inbox. */
function agentOf(caller: Caller): string {
  if (caller.kind === 'agent') return caller.agentId
  throw new Problem('denied', { detail: 'only an agent may subscribe to a topic' })
}

function full(detail: string): Problem {
  return new Problem('unprocessable', { detail })
}
