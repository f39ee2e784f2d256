import type { FastifyInstance, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { headers } from '@flotilla/protocol/headers'
import { operatorApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import { Problem } from '@flotilla/protocol/problem'
import type { EffectOnce } from '../../runs/effect-once.ts'
import type { AgentCaller, createAgentGate } from '../agent/gate.ts'
import { createBinder } from '../bind-endpoint.ts'
import { requireOperatorOrInternal } from './gate.ts'

type Api = typeof api
type Answer<Name extends keyof Api> = z.input<Api[Name]['response']> | Promise<z.input<Api[Name]['response']>>
type Body<Name extends 'agentCreate' | 'agentEdit' | 'agentDelete'> = z.output<Api[Name]['request']>

/** What the operator may do to the fleet; each use case decides for itself, and holds the ceiling. */
export interface OperatorUseCases {
  tools(caller: AgentCaller): Answer<'tools'>
  agents(caller: AgentCaller): Answer<'agents'>
  agentConfig(caller: AgentCaller, agentId: string): Answer<'agentConfig'>
  agentFile(caller: AgentCaller, agentId: string, file: string): Answer<'agentFile'>
  createAgent(caller: AgentCaller, body: Body<'agentCreate'>): Answer<'agentCreate'>
  editAgent(
    caller: AgentCaller,
    agentId: string,
    asked: { edit: Body<'agentEdit'>; idempotencyKey: string },
  ): Answer<'agentEdit'>
  restartAgent(caller: AgentCaller, agentId: string): Answer<'agentRestart'>
  stopAgent(caller: AgentCaller, agentId: string): Answer<'agentStop'>
  askToDelete(caller: AgentCaller, agentId: string, body: Body<'agentDelete'>): Answer<'agentDelete'>
  changes(caller: AgentCaller, limit: number): Answer<'changes'>
  undo(caller: AgentCaller, token: string): Answer<'changeUndo'>
  pending(caller: AgentCaller, limit: number): Answer<'pending'>
  cancelPending(caller: AgentCaller, id: string): Answer<'pendingCancel'>
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
    const caller = callerOf(raw)
    const key = raw.headers[headers.idempotencyKey]
    if (typeof key !== 'string' || key.length === 0 || key.length > 200) {
      throw new Problem('bad-request', {
        detail: `send ${headers.idempotencyKey} with every call that has an effect`,
      })
    }
    const runId = caller.run?.runId
    if (runId === undefined) throw new Problem('stale-fence')
    return {
      caller,
      key,
      once: <T>(work: () => Promise<T> | T) => effects.once({ runId, key, request, ifCutOff: 'again' }, work),
    }
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
    const { caller, once } = effect(raw, { create: body })
    return once(() => use.createAgent(caller, body))
  })
  bind(endpoints.agentEdit, api.agentEdit, async ({ raw, params, body }) => {
    const agentId = params['id'] ?? ''
    const { caller, once, key } = effect(raw, { edit: agentId, body })
    return once(() => use.editAgent(caller, agentId, { edit: body, idempotencyKey: key }))
  })
  bind(endpoints.agentRestart, api.agentRestart, async ({ raw, params }) => {
    const { caller, once } = effect(raw, { restart: params['id'] })
    return once(() => use.restartAgent(caller, params['id'] ?? ''))
  })
  bind(endpoints.agentStop, api.agentStop, async ({ raw, params }) => {
    const { caller, once } = effect(raw, { stop: params['id'] })
    return once(() => use.stopAgent(caller, params['id'] ?? ''))
  })
  bind(endpoints.agentDelete, api.agentDelete, async ({ raw, params, body }) => {
    const { caller, once } = effect(raw, { delete: params['id'], body })
    return once(() => use.askToDelete(caller, params['id'] ?? '', body))
  })
  bind(endpoints.changeUndo, api.changeUndo, async ({ raw, params }) => {
    const { caller, once } = effect(raw, { undo: params['token'] })
    return once(() => use.undo(caller, params['token'] ?? ''))
  })
  bind(endpoints.pendingCancel, api.pendingCancel, async ({ raw, params }) => {
    const { caller, once } = effect(raw, { cancel: params['id'] })
    return once(() => use.cancelPending(caller, params['id'] ?? ''))
  })
}
