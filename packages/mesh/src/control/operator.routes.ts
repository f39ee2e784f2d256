import type { FastifyInstance, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { operatorApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { EffectOnce, EffectStep } from '../effects/effect-once.ts'
import { effectOf } from '../http/effect-on-call.ts'
import type { AgentCaller, createAgentGate } from '../http/gates/agent-gate.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import { requireOperatorOrInternal } from '../http/gates/operator-gate.ts'

type Api = typeof api
type Reply<Name extends keyof Api> = z.input<Api[Name]['response']>
type Answer<Name extends keyof Api> = Reply<Name> | Promise<Reply<Name>>
type Step<Name extends keyof Api> = EffectStep<Reply<Name>>
type Body<Name extends 'agentCreate' | 'agentEdit' | 'agentDelete'> = z.output<Api[Name]['request']>

/** What the operator may do to the fleet; each use case decides for itself, and holds the ceiling. */
export interface OperatorUseCases {
  tools(caller: AgentCaller): Answer<'tools'>
  agents(caller: AgentCaller): Answer<'agents'>
  agentConfig(caller: AgentCaller, agentId: string): Answer<'agentConfig'>
  agentFile(caller: AgentCaller, agentId: string, file: string): Answer<'agentFile'>
  createAgent(
    caller: AgentCaller,
    body: Body<'agentCreate'>,
    step: Step<'agentCreate'>,
  ): Promise<Reply<'agentCreate'>>
  editAgent(
    caller: AgentCaller,
    agentId: string,
    asked: { edit: Body<'agentEdit'>; idempotencyKey: string; step: Step<'agentEdit'> },
  ): Promise<Reply<'agentEdit'>>
  restartAgent(
    caller: AgentCaller,
    agentId: string,
    step: Step<'agentRestart'>,
  ): Promise<Reply<'agentRestart'>>
  stopAgent(caller: AgentCaller, agentId: string, step: Step<'agentStop'>): Promise<Reply<'agentStop'>>
  askToDelete(caller: AgentCaller, agentId: string, body: Body<'agentDelete'>): Reply<'agentDelete'>
  changes(caller: AgentCaller, limit: number): Answer<'changes'>
  undo(caller: AgentCaller, token: string, step: Step<'changeUndo'>): Promise<Reply<'changeUndo'>>
  pending(caller: AgentCaller, limit: number): Answer<'pending'>
  cancelPending(caller: AgentCaller, id: string): Reply<'pendingCancel'>
}

export interface OperatorRoutesDeps {
  readonly gate: ReturnType<typeof createAgentGate>
  readonly effects: EffectOnce
  readonly use: OperatorUseCases
}

/** On the agent door, behind the agent gate and the operator's. */
export function operatorRoutes(scope: FastifyInstance, { gate, effects, use }: OperatorRoutesDeps): void {
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)
  // Nobody else's body is read.
  scope.addHook('onRequest', async (raw) => void callerOf(raw))

  function callerOf(raw: FastifyRequest): AgentCaller {
    const caller = gate.doorOnly(raw)
    requireOperatorOrInternal(caller)
    return caller
  }

  /** What has an effect is done once for its key, whatever happens to the line. */
  function effect(raw: FastifyRequest, request: unknown) {
    callerOf(raw)
    return effectOf({ gate, effects }, raw, request)
  }

  bind(endpoints.tools, api.tools, async ({ raw }) => use.tools(callerOf(raw)))
  bind(endpoints.agents, api.agents, async ({ raw }) => use.agents(callerOf(raw)))
  bind(endpoints.agentConfig, api.agentConfig, async ({ raw, params }) =>
    use.agentConfig(callerOf(raw), params['id'] ?? ''),
  )
  bind(endpoints.agentFile, api.agentFile, async ({ raw, params }) =>
    use.agentFile(callerOf(raw), params['id'] ?? '', params['file'] ?? ''),
  )
  bind(endpoints.changes, api.changes, async ({ raw, query }) => use.changes(callerOf(raw), query.limit))
  bind(endpoints.pending, api.pending, async ({ raw, query }) => use.pending(callerOf(raw), query.limit))

  bind(endpoints.agentCreate, api.agentCreate, async ({ raw, body }) => {
    const { caller, resumable } = effect(raw, { create: body })
    return resumable<Reply<'agentCreate'>>((step) => use.createAgent(caller, body, step))
  })
  bind(endpoints.agentEdit, api.agentEdit, async ({ raw, params, body }) => {
    const agentId = params['id'] ?? ''
    const { caller, resumable, key } = effect(raw, { edit: agentId, body })
    return resumable<Reply<'agentEdit'>>((step) =>
      use.editAgent(caller, agentId, { edit: body, idempotencyKey: key, step }),
    )
  })
  bind(endpoints.agentRestart, api.agentRestart, async ({ raw, params }) => {
    const { caller, resumable } = effect(raw, { restart: params['id'] })
    return resumable<Reply<'agentRestart'>>((step) => use.restartAgent(caller, params['id'] ?? '', step))
  })
  bind(endpoints.agentStop, api.agentStop, async ({ raw, params }) => {
    const { caller, resumable } = effect(raw, { stop: params['id'] })
    return resumable<Reply<'agentStop'>>((step) => use.stopAgent(caller, params['id'] ?? '', step))
  })
  bind(endpoints.agentDelete, api.agentDelete, async ({ raw, params, body }) => {
    const { caller, local } = effect(raw, { delete: params['id'], body })
    return local(() => use.askToDelete(caller, params['id'] ?? '', body))
  })
  bind(endpoints.changeUndo, api.changeUndo, async ({ raw, params }) => {
    const { caller, resumable } = effect(raw, { undo: params['token'] })
    return resumable<Reply<'changeUndo'>>((step) => use.undo(caller, params['token'] ?? '', step))
  })
  bind(endpoints.pendingCancel, api.pendingCancel, async ({ raw, params }) => {
    const { caller, local } = effect(raw, { cancel: params['id'] })
    return local(() => use.cancelPending(caller, params['id'] ?? ''))
  })
}
