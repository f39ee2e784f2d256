import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { vaultAgentApi as api, vaultAgentEndpoints as endpoints } from '@flotilla/protocol/vault-api'
import type { EffectOnce, EffectStep } from '../effects/effect-once.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import { effectOf } from '../http/effect-on-call.ts'
import type { AgentCaller, createAgentGate } from '../http/gates/agent-gate.ts'

type Body<Name extends 'vaultGenerate' | 'credentialRequest'> = z.output<(typeof api)[Name]['request']>
type Reply<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>

/** What agents may do with credentials; each use case decides for itself whether the caller may. */
export interface VaultAgentUseCases {
  list(caller: AgentCaller): Reply<'vaultList'>
  generate(
    caller: AgentCaller,
    body: Body<'vaultGenerate'>,
    step: EffectStep<Reply<'vaultGenerate'>>,
  ): Promise<Reply<'vaultGenerate'>>
  request(caller: AgentCaller, body: Body<'credentialRequest'>): Reply<'credentialRequest'>
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
  bind(endpoints.vaultGenerate, api.vaultGenerate, async ({ raw, body }) => {
    const { caller, resumable } = effectOf({ gate, effects }, raw, body)
    return resumable<Reply<'vaultGenerate'>>((step) => use.generate(caller, body, step))
  })
  bind(endpoints.credentialRequest, api.credentialRequest, async ({ raw, body }) => {
    const { caller, local } = effectOf({ gate, effects }, raw, body)
    return local(() => use.request(caller, body))
  })
}
