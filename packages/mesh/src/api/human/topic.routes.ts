import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { topicHumanApi as api, topicHumanEndpoints as endpoints } from '@flotilla/protocol/topics-api'
import type { Caller } from '../../policy/caller.ts'
import { createBinder } from '../bind-endpoint.ts'
import type { HumanGate } from './gate.ts'

type Answer<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>

/** What people see of topics. */
export interface TopicHumanUseCases {
  topics(caller: Caller): Answer<'topicsView'>
  signalsOf(caller: Caller, agentId: string): Answer<'signalsOf'>
}

export function topicRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: TopicHumanUseCases },
): void {
  const bind = createBinder(scope)
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.topicsView, api.topicsView, async ({ raw }) => use.topics(gate(raw)))
  bind(endpoints.signalsOf, api.signalsOf, async ({ raw, params }) =>
    use.signalsOf(gate(raw), params['id'] ?? ''),
  )
}
