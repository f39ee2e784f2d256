import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { vaultAgentApi as api, vaultAgentEndpoints as endpoints } from '@flotilla/protocol/vault-api'
import type { EffectOnce } from '../../runs/effect-once.ts'
import { createBinder } from '../bind-endpoint.ts'
import { effectOf } from './agent.routes.ts'
import type { AgentCaller, createAgentGate } from './gate.ts'

type Body<Name extends 'vaultGenerate' | 'credentialRequest'> = z.output<(typeof api)[Name]['request']>
type Answer<Name extends keyof typeof api> =
  | z.input<(typeof api)[Name]['response']>
  | Promise<z.input<(typeof api)[Name]['response']>>

/** What agents may do with credentials; each use case decides for itself whether the caller may. */
export interface VaultAgentUseCases {
  list(caller: AgentCaller): Answer<'vaultList'>
  generate(caller: AgentCaller, body: Body<'vaultGenerate'>): Answer<'vaultGenerate'>
  request(caller: AgentCaller, body: Body<'credentialRequest'>): Answer<'credentialRequest'>
}

export function vaultAgentRoutes(
  scope: FastifyInstance,
  deps: {
    readonly gate: ReturnType<typeof createAgentGate>
    readonly effects: EffectOnce
    readonly use: VaultAgentUseCases
  },
): void {
  const { gate, effects, use } = deps
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)

  bind(endpoints.vaultList, api.vaultList, async ({ raw }) => use.list(gate.doorOnly(raw)))
  // The value is in a file and the answer in the database: where the mesh died in between, nobody knows.
  bind(endpoints.vaultGenerate, api.vaultGenerate, async ({ raw, body }) => {
    const { caller, once } = effectOf({ gate, effects }, raw, { ifCutOff: 'unknown', request: body })
    return once(async () => use.generate(caller, body))
  })
  bind(endpoints.credentialRequest, api.credentialRequest, async ({ raw, body }) => {
    const { caller, once } = effectOf({ gate, effects }, raw, { ifCutOff: 'again', request: body })
    return once(() => use.request(caller, body))
  })
}
