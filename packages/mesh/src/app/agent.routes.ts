import { effectOf } from '../http/effect-on-call.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { EffectOnce, EffectStep, OutsideLine } from '../effects/effect-once.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import { clientGone } from '../http/client-gone.ts'
import type { AgentCaller, createAgentGate } from '../http/gates/agent-gate.ts'

type Body<Name extends keyof typeof api> = (typeof api)[Name] extends {
  request: infer S extends z.core.$ZodType
}
  ? z.output<S>
  : never
type Reply<Name extends keyof typeof api> = (typeof api)[Name] extends {
  response: infer S extends z.core.$ZodType
}
  ? z.input<S>
  : never
type Answer<Name extends keyof typeof api> = Reply<Name> | Promise<Reply<Name>>
type Step<Name extends keyof typeof api> = EffectStep<Reply<Name>>

/**
 * The use cases behind the agent door; each decides for itself whether the caller may. What changes rows alone does so
 * at once, for its answer is a row of the same transaction.
 */
export interface AgentUseCases {
  renewLease(caller: AgentCaller): Answer<'lease'>
  listAgents(caller: AgentCaller): Answer<'agents'>
  listEntries(caller: AgentCaller, prefix: string): Answer<'blackboardList'>
  readEntry(caller: AgentCaller, key: string): Answer<'blackboardRead'>
  writeEntry(caller: AgentCaller, key: string, body: Body<'blackboardWrite'>): Reply<'blackboardWrite'>
  handOff(caller: AgentCaller, body: Body<'handOff'>, idempotencyKey: string): Reply<'handOff'>
  steer(caller: AgentCaller, input: { agentId: string; text: string; idempotencyKey: string }): Reply<'steer'>
  steersTaken(caller: AgentCaller, body: Body<'steersTaken'>): Reply<'steersTaken'>
  listInbox(caller: AgentCaller): Answer<'inbox'>
  completeTask(caller: AgentCaller, taskId: string, body: Body<'completeTask'>): Reply<'completeTask'>
  saveArtifact(
    caller: AgentCaller,
    body: Body<'saveArtifact'>,
    step: Step<'saveArtifact'>,
  ): Promise<Reply<'saveArtifact'>>
  notifyOwner(caller: AgentCaller, message: string, idempotencyKey: string): Reply<'notify'>
  forwardRequest(
    caller: AgentCaller,
    body: Body<'httpRequest'>,
    line: OutsideLine & { readonly gone: AbortSignal },
  ): Promise<Reply<'httpRequest'>>
}

export interface AgentRoutesDeps {
  readonly gate: ReturnType<typeof createAgentGate>
  readonly effects: EffectOnce
  readonly use: AgentUseCases
}

export function agentRoutes(scope: FastifyInstance, { gate, effects, use }: AgentRoutesDeps): void {
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)

  bind(endpoints.lease, api.lease, async ({ raw }) => use.renewLease(gate.doorOnly(raw)))
  bind(endpoints.agents, api.agents, async ({ raw }) => use.listAgents(gate.doorOnly(raw)))
  bind(endpoints.inbox, api.inbox, async ({ raw }) => use.listInbox(gate.doorOnly(raw)))
  bind(endpoints.blackboardList, api.blackboardList, async ({ raw, query }) =>
    use.listEntries(gate.doorOnly(raw), query.prefix),
  )
  bind(endpoints.blackboardRead, api.blackboardRead, async ({ raw, params }) =>
    use.readEntry(gate.doorOnly(raw), params['key'] ?? ''),
  )

  bind(endpoints.blackboardWrite, api.blackboardWrite, async ({ raw, params, body }) => {
    const { caller, local } = effect(raw, { key: params['key'], body })
    return local(() => use.writeEntry(caller, params['key'] ?? '', body))
  })
  bind(endpoints.handOff, api.handOff, async ({ raw, body }) => {
    const { caller, local, key } = effect(raw, body)
    return local(() => use.handOff(caller, body, key))
  })
  bind(endpoints.steer, api.steer, async ({ raw, params, body }) => {
    const { caller, local, key } = effect(raw, { id: params['id'], body })
    return local(() =>
      use.steer(caller, { agentId: params['id'] ?? '', text: body.text, idempotencyKey: key }),
    )
  })
  // Said again it changes nothing, so it needs no key.
  bind(endpoints.steersTaken, api.steersTaken, async ({ raw, body }) =>
    use.steersTaken(gate.doorOnly(raw), body),
  )
  bind(endpoints.completeTask, api.completeTask, async ({ raw, params, body }) => {
    const { caller, local } = effect(raw, { id: params['id'], body })
    return local(() => use.completeTask(caller, params['id'] ?? '', body))
  })
  bind(
    endpoints.saveArtifact,
    { ...api.saveArtifact, bodyMaxBytes: 3 * 1024 * 1024 },
    async ({ raw, body }) => {
      const { caller, resumable } = effect(raw, body)
      return resumable<Reply<'saveArtifact'>>((step) => use.saveArtifact(caller, body, step))
    },
  )
  bind(endpoints.notify, api.notify, async ({ raw, body }) => {
    const { caller, local, key } = effect(raw, body)
    return local(() => use.notifyOwner(caller, body.message, key))
  })
  // The agent's end is not the call's: its answer waits for the agent that goes on with the run.
  bind(endpoints.httpRequest, api.httpRequest, async ({ raw, body, reply }) => {
    const { caller, outside, asked } = effect(raw, body)
    const once = body.method === 'GET' || body.method === 'HEAD' ? asked : outside
    const gone = clientGone(reply)
    return once((line) => use.forwardRequest(caller, body, { ...line, gone }))
  })

  function effect(raw: FastifyRequest, request: unknown) {
    return effectOf({ gate, effects }, raw, request)
  }
}
