import type { FastifyInstance } from 'fastify'
import { mcpHumanApi as api, mcpHumanEndpoints as endpoints } from '@flotilla/protocol/mcp-api'
import type * as z from 'zod'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

export interface McpUseCases {
  mcpServers(caller: Caller, agentId: string): Promise<z.input<typeof api.mcpServers.response>>
}

export function mcpHumanRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: McpUseCases },
): void {
  const bind = createBinder(scope)
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.mcpServers, api.mcpServers, async ({ raw, params }) =>
    use.mcpServers(gate(raw), params['id'] ?? ''),
  )
}
