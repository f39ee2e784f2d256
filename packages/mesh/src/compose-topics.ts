import type { SignalView } from '@flotilla/protocol/topics-api'
import type { TopicAgentUseCases } from './api/agent/topic.routes.ts'
import type { TopicHumanUseCases } from './api/human/topic.routes.ts'
import type { Fleet } from './fleet/fleet.ts'
import type { UnreadSignal } from './topics/topic-table.ts'
import type { Topics } from './topics/topics.ts'
import { Problem } from '@flotilla/protocol/problem'

/** Topics in the words of the agent door. */
export function topicAgentUseCases({ topics }: { readonly topics: Topics }): TopicAgentUseCases {
  return {
    publish: (caller, body) => {
      const { signalId, delivered, full } = topics.publish(caller, body)
      return { signal_id: signalId, delivered, full: [...full] }
    },
    read: (caller, { limit }, key) => {
      const { signals, more } = topics.read(caller, { limit, key })
      return { signals: signals.map(viewOf), more }
    },
    mine: (caller) => {
      const { topics: names, unread } = topics.mine(caller)
      return { topics: [...names], unread }
    },
    subscribe: (caller, topic) => ({ topics: [...topics.subscribe(caller, topic)] }),
    unsubscribe: (caller, topic) => ({ topics: [...topics.unsubscribe(caller, topic)] }),
  }
}

/** Topics in the words of the people's door. */
export function topicHumanUseCases({
  topics,
  fleet,
}: {
  readonly topics: Topics
  readonly fleet: Pick<Fleet, 'find'>
}): TopicHumanUseCases {
  return {
    topics: (caller) => ({
      topics: topics.view(caller).map(({ topic, subscribers, signals, lastAt }) => ({
        topic,
        subscribers: [...subscribers],
        signals,
        last_at: lastAt,
      })),
    }),
    signalsOf: (caller, agentId) => {
      const { topics: names, unread, signals } = topics.viewOf(caller, agentId)
      if (!fleet.find(agentId)) throw new Problem('unknown-agent')
      return { topics: [...names], unread, signals: signals.map(viewOf) }
    },
  }
}

function viewOf({ id, topic, from, at, text, data }: UnreadSignal): SignalView {
  return { id, topic, from, at, text, data }
}
