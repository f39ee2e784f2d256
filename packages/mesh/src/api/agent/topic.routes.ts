import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { topicAgentApi as api, topicAgentEndpoints as endpoints } from '@flotilla/protocol/topics-api'
import type { EffectOnce } from '../../runs/effect-once.ts'
import { createBinder } from '../bind-endpoint.ts'
import { effectOf } from './agent.routes.ts'
import type { AgentCaller, createAgentGate } from './gate.ts'

type Body<Name extends 'signalPublish' | 'signalsRead'> = z.output<(typeof api)[Name]['request']>
type Answer<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>

/** Topics of agents; each use case decides for itself whether the caller may. */
export interface TopicAgentUseCases {
  publish(caller: AgentCaller, body: Body<'signalPublish'>): Answer<'signalPublish'>
  read(caller: AgentCaller, body: Body<'signalsRead'>, key: string): Answer<'signalsRead'>
  mine(caller: AgentCaller): Answer<'topics'>
  subscribe(caller: AgentCaller, topic: string): Answer<'topicSubscribe'>
  unsubscribe(caller: AgentCaller, topic: string): Answer<'topicUnsubscribe'>
}

export function topicAgentRoutes(
  scope: FastifyInstance,
  deps: {
    readonly gate: ReturnType<typeof createAgentGate>
    readonly effects: EffectOnce
    readonly use: TopicAgentUseCases
  },
): void {
  const { gate, effects, use } = deps
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)

  bind(endpoints.signalPublish, api.signalPublish, async ({ raw, body }) => {
    const { caller, local } = effectOf({ gate, effects }, raw, body)
    return local(() => use.publish(caller, body))
  })
  // The rows themselves know which call was given what: a repeat needs no answer that was kept.
  bind(endpoints.signalsRead, api.signalsRead, async ({ raw, body }) => {
    const { caller, key } = effectOf({ gate, effects }, raw, body)
    return use.read(caller, body, key)
  })
  bind(endpoints.topics, api.topics, async ({ raw }) => use.mine(gate.doorOnly(raw)))
  // Said again these change nothing, so they need no key.
  bind(endpoints.topicSubscribe, api.topicSubscribe, async ({ raw, body }) =>
    use.subscribe(gate.doorOnly(raw), body.topic),
  )
  bind(endpoints.topicUnsubscribe, api.topicUnsubscribe, async ({ raw, body }) =>
    use.unsubscribe(gate.doorOnly(raw), body.topic),
  )
}
