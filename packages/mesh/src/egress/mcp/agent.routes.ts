import type { FastifyInstance } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { mcpAgentApi as api, mcpAgentEndpoints as endpoints } from '@flotilla/protocol/mcp-api'
import type { ExchangeWithServer } from './exchange-with-server.ts'
import { alreadySent, createBinder } from '../../http/bind-endpoint.ts'
import { clientGone } from '../../http/client-gone.ts'
import type { AgentCaller, createAgentGate } from '../../http/gates/agent-gate.ts'

export interface McpAgentRoutesDeps {
  readonly gate: ReturnType<typeof createAgentGate>
  readonly use: {
    exchange(
      caller: AgentCaller,
      ...rest: Parameters<ExchangeWithServer> extends [unknown, ...infer Rest] ? Rest : never
    ): ReturnType<ExchangeWithServer>
  }
}

const bodyMaxBytes = 6 * 1024 * 1024

/** Exchanges with MCP servers, streamed as they come. Each is made once: what it did is not known when it breaks off. */
export function mcpAgentRoutes(scope: FastifyInstance, { gate, use }: McpAgentRoutesDeps): void {
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)
  bind(endpoints.mcpExchange, { ...api.mcpExchange, bodyMaxBytes }, async ({ raw, body, reply }) => {
    const answer = await use.exchange(gate.doorOnly(raw), body, clientGone(reply))
    const farEnd = { status: answer.status, headers: answer.headers }
    reply.hijack()
    reply.raw.writeHead(200, {
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      [headers.farEnd]: Buffer.from(JSON.stringify(farEnd)).toString('base64url'),
    })
    reply.raw.flushHeaders()
    // One that does not read must not keep the line, the lease and the far end for ever.
    answer.cut.addEventListener('abort', () => reply.raw.destroy(), { once: true })
    try {
      for await (const bytes of answer.body) {
        if (!reply.raw.write(bytes)) await drained(reply.raw)
      }
      reply.raw.end()
    } catch {
      // The agent sees the line break; the journal says why.
      reply.raw.destroy()
    }
    return alreadySent
  })
}

function drained(socket: NodeJS.WritableStream & { destroyed?: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    if (socket.destroyed === true) return reject(new Error('the agent went away'))
    socket.once('drain', resolve)
    socket.once('close', () => reject(new Error('the agent went away')))
  })
}
