import { topicAgentApi as api, topicAgentEndpoints as endpoints } from '@flotilla/protocol/topics-api'
import type { AgentSurface } from '@flotilla/identity/http'
import { signalView } from './signal-view.ts'
import type { Topics } from './topics.ts'

export function topicAgentRoutes({ bind }: AgentSurface, topics: Topics): void {
  bind(endpoints.signalPublish, api.signalPublish, ({ caller, body, effect }) =>
    effect(body).local(() => {
      const { signalId, delivered, full } = topics.publish(caller, body)
      return { signal_id: signalId, delivered, full }
    }),
  )
  // The rows record which request received which signals, so a repeated request needs no stored answer.
  bind(endpoints.signalsRead, api.signalsRead, ({ caller, body, effect }) => {
    const { signals, more } = topics.read(caller, { limit: body.limit, key: effect(body).key })
    return { signals: signals.map(signalView), more }
  })
  bind(endpoints.topics, api.topics, ({ caller }) => topics.mine(caller))
  // A repeated call of these routes changes nothing, so the routes need no idempotency key.
  bind(endpoints.topicSubscribe, api.topicSubscribe, ({ caller, body }) => ({
    topics: topics.subscribe(caller, body.topic),
  }))
  bind(endpoints.topicUnsubscribe, api.topicUnsubscribe, ({ caller, body }) => ({
    topics: topics.unsubscribe(caller, body.topic),
  }))
}
