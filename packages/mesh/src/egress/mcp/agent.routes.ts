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
