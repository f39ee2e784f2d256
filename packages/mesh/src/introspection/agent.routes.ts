import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { toolApi as api, toolEndpoints as endpoints } from '@flotilla/protocol/tool-api'
import type { WebSearchRequest } from '@flotilla/protocol/tool-api'
import { createBinder } from '../http/bind-endpoint.ts'
import { clientGone } from '../http/client-gone.ts'
import type { AgentCaller, createAgentGate } from '../http/gates/agent-gate.ts'

type Answer<Name extends keyof typeof api> =
  | z.input<(typeof api)[Name]['response']>
  | Promise<z.input<(typeof api)[Name]['response']>>

/** What agents' tools ask; each use case decides for itself whether the caller may. */
export interface ToolUseCases {
  held(caller: AgentCaller): Answer<'toolsHeld'>
  self(caller: AgentCaller): Answer<'self'>
  webSearch(caller: AgentCaller, body: WebSearchRequest, signal: AbortSignal): Answer<'webSearch'>
  listArtifacts(caller: AgentCaller, agentId: string): Answer<'artifacts'>
  readArtifact(caller: AgentCaller, agentId: string, name: string): Answer<'artifact'>
}

/** Nothing here changes anything, so no call needs a key. */
export function toolRoutes(
  scope: FastifyInstance,
  deps: { readonly gate: ReturnType<typeof createAgentGate>; readonly use: ToolUseCases },
): void {
  const { gate, use } = deps
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)

  bind(endpoints.toolsHeld, api.toolsHeld, async ({ raw }) => use.held(gate.doorOnly(raw)))
  bind(endpoints.self, api.self, async ({ raw }) => use.self(gate.doorOnly(raw)))
  bind(endpoints.webSearch, api.webSearch, async ({ raw, body, reply }) =>
    use.webSearch(gate.doorOnly(raw), body, clientGone(reply)),
  )
  bind(endpoints.artifacts, api.artifacts, async ({ raw, query }) => {
    const caller = gate.doorOnly(raw)
    return use.listArtifacts(caller, query.agent ?? caller.agentId)
  })
  bind(endpoints.artifact, api.artifact, async ({ raw, params, query }) => {
    const caller = gate.doorOnly(raw)
    return use.readArtifact(caller, query.agent ?? caller.agentId, params['name'] ?? '')
  })
}
