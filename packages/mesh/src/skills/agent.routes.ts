import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { skillApi as api, skillEndpoints as endpoints } from '@flotilla/protocol/skills-api'
import { createBinder } from '../http/bind-endpoint.ts'
import type { AgentCaller, createAgentGate } from '../http/gates/agent-gate.ts'

/** What the mesh does for agents that write skills; the use case decides whether the caller may. */
export interface SkillUseCases {
  check(
    caller: AgentCaller,
    body: z.output<typeof api.skillCheck.request>,
  ): Promise<z.input<typeof api.skillCheck.response>>
}

export function skillRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: ReturnType<typeof createAgentGate>; readonly use: SkillUseCases },
): void {
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)
  // Nothing changes by it, so it needs no key.
  bind(endpoints.skillCheck, api.skillCheck, async ({ raw, body }) => use.check(gate.doorOnly(raw), body))
}
