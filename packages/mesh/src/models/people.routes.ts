import type { FastifyInstance } from 'fastify'
import { modelsApi as api, modelsEndpoints as endpoints } from '@flotilla/protocol/models-api'
import type { ModelView } from '@flotilla/protocol/models-api'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

export interface ModelsRoutesDeps {
  readonly gate: HumanGate
  readonly use: { models(caller: Caller): readonly ModelView[] }
}

export function modelsRoutes(scope: FastifyInstance, { gate, use }: ModelsRoutesDeps): void {
  const bind = createBinder(scope)
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.models, api.models, async ({ raw }) => ({ models: [...use.models(gate(raw))] }))
}
