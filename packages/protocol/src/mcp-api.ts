import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { outboundHeadersSchema } from './outbound-headers.ts'

/** MCP servers of agents: what an agent requests from the mesh, and what people see. */

export const mcpAgentEndpoints = {
  mcpExchange: {
    method: 'POST',
    path: '/mesh/mcp',
    summary: 'Forward one HTTP request to an MCP server of the calling agent and stream the answer.',
  },
} as const satisfies Record<string, Endpoint>

export const mcpAgentApi = {
  mcpExchange: {
    request: z.strictObject({
      /** Name of the server in the agent's `mcpServers`. */
      server: z.string().check(z.maxLength(32)),
      /** The address of the request, of the same origin as the server's; null for the server's own address. */
      url: z.nullable(z.string().check(z.maxLength(4096))),
      method: z.enum(['GET', 'POST', 'DELETE']),
      headers: outboundHeadersSchema,
      body: z._default(z.string().check(z.maxLength(4 * 1024 * 1024)), ''),
    }),
  },
} as const satisfies Record<keyof typeof mcpAgentEndpoints, EndpointSchemas>

export const mcpHumanEndpoints = {
  mcpServers: {
    method: 'GET',
    path: '/api/agents/{id}/mcp',
    summary: 'List an agent’s MCP servers with their state and tools.',
  },
} as const satisfies Record<string, Endpoint>

/** Number of tools that an agent takes from one server. */
export const mcpServerToolsMax = 256

export const mcpStates = ['disabled', 'not-started', 'starting', 'running', 'failed', 'stopped'] as const

/** The state of one server, as the agent that uses it reports it. */
export const mcpServerStatusSchema = z.strictObject({
  name: z.string().check(z.maxLength(64)),
  state: z.enum(mcpStates),
  /** The error, or what the mesh left out. */
  detail: z.string().check(z.maxLength(2000)),
  /** The negotiated protocol version. */
  protocol: z.nullable(z.string().check(z.maxLength(40))),
  /** The tools by the names that the model uses. */
  tools: z.array(z.string().check(z.maxLength(64))).check(z.maxLength(mcpServerToolsMax)),
})
export type McpServerStatus = z.infer<typeof mcpServerStatusSchema>

export const mcpHumanApi = {
  mcpServers: {
    response: z.strictObject({
      agent_id: agentIdSchema,
      servers: z.array(
        z.strictObject({
          ...mcpServerStatusSchema.shape,
          /** The configuration with credential handles, not their values. */
          config: z.record(z.string(), z.unknown()),
          /** Why the outbound filter would refuse its address to this agent, and what opens it. */
          notices: z._default(z.array(z.string()), []),
        }),
      ),
    }),
  },
} as const satisfies Record<keyof typeof mcpHumanEndpoints, EndpointSchemas>
