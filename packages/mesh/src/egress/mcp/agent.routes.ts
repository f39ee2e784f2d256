import { pipeline } from 'node:stream/promises'
import { headers } from '@flotilla/protocol/headers'
import { mcpAgentApi as api, mcpAgentEndpoints as endpoints } from '@flotilla/protocol/mcp-api'
import { alreadySent } from '../../http/index.ts'
import type { AgentSurface } from '../../http/index.ts'
import type { ExchangeWithServer } from './exchange-with-server.ts'

const bodyMaxBytes = 6 * 1024 * 1024

/** Exchanges with MCP servers, streamed as they come. Each is made once: what it did is not known when it breaks off. */
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
    // One that does not read must not keep the line, the lease and the far end for ever.
    answer.cut.addEventListener('abort', () => reply.raw.destroy(), { once: true })
    // The agent sees the line break where it does; the journal says why.
    await pipeline(answer.body, reply.raw).catch(() => reply.raw.destroy())
    return alreadySent
  })
}
