import { pipeline } from 'node:stream/promises'
import { headers } from '@flotilla/protocol/headers'
import { mcpAgentApi as api, mcpAgentEndpoints as endpoints } from '@flotilla/protocol/mcp-api'
import { alreadySent } from '@flotilla/identity/http'
import type { AgentSurface } from '@flotilla/identity/http'
import type { ExchangeWithServer } from './exchange-with-server.ts'

/** The maximum size of a request that an agent sends to an MCP server through the mesh, in bytes. */
const bodyMaxBytes = 6 * 1024 * 1024

/** Streams exchanges with MCP servers. Each is made once: its effect is unknown if the connection breaks. */
export function mcpAgentRoutes({ bind }: AgentSurface, exchange: ExchangeWithServer): void {
  const exchanged = {
    ...api.mcpExchange,
    bodyMaxBytes,
    needs: () => ({ do: 'call-api', api: 'http' }) as const,
  }
  bind(endpoints.mcpExchange, exchanged, async ({ caller, body, reply, gone }) => {
    const answer = await exchange(caller, body, gone())
    const farEnd = { status: answer.status, headers: answer.headers }
    reply.hijack()
    reply.raw.writeHead(200, {
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      [headers.farEnd]: Buffer.from(JSON.stringify(farEnd)).toString('base64url'),
    })
    reply.raw.flushHeaders()
    // A client that does not read must not hold the connection, the lease and the MCP server forever.
    answer.cut.addEventListener('abort', () => reply.raw.destroy(), { once: true })
    // The agent sees the broken connection; the audit log has the reason.
    await pipeline(answer.body, reply.raw).catch(() => reply.raw.destroy())
    return alreadySent
  })
}
