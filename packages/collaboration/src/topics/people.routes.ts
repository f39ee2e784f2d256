import { topicHumanApi as api, topicHumanEndpoints as endpoints } from '@flotilla/protocol/topics-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import { signalView } from './signal-view.ts'
import type { Topics } from './topics.ts'

export function topicPeopleRoutes(
  { bind }: PeopleSurface,
  { topics, agents }: { readonly topics: Topics; readonly agents: { require(agentId: string): unknown } },
): void {
  bind(endpoints.topicsView, api.topicsView, ({ caller }) => ({
    topics: topics.view(caller).map(({ lastAt, ...topic }) => ({ ...topic, last_at: lastAt })),
  }))
  bind(endpoints.topicSignals, api.topicSignals, ({ caller, params }) => {
    const { signals, ...topic } = topics.viewTopic(caller, params.topic)
    return { ...topic, signals: signals.map(signalView) }
  })
  bind(endpoints.signalsOf, api.signalsOf, ({ caller, params }) => {
    const { topics: names, unread, signals } = topics.viewOf(caller, params.id)
    agents.require(params.id)
    return { topics: names, unread, signals: signals.map(signalView) }
  })
}
