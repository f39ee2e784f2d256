import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { startWebServer } from './web-server.ts'
import type { WebServer } from './web-server.ts'

/** An MCP server for HTTP, written with the official SDK. */
function aServer(): McpServer {
  const server = new McpServer({ name: 'web', version: '1' })
  const text = fromJsonSchema<{ text: string }>({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  })
  server.registerTool('echo', { description: 'Says it again', inputSchema: text }, async (input) => ({
    content: [{ type: 'text', text: `you said ${input.text}` }],
  }))
  return server
}

/**
 * On `/mcp` the current transport, on `/sse` the older HTTP+SSE and nothing else, on `/away` a redirect to a private
 * address, on `/leak` the current transport which says back what it was sent as key.
 */
export async function startMcpWebServer(): Promise<WebServer> {
  const streams = new Map<string, { send(bytes: string): void; receive(message: JSONRPCMessage): void }>()
  const server: WebServer = await startWebServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://here')
    const asked = server.requests.findLast(({ url }) => url === request.url)
    const body = asked?.body ?? ''
    if (pathname === '/away')
      return void response.writeHead(307, { location: 'http://169.254.169.254/' }).end()
    if (pathname === '/sse') return openStream(request.method ?? '', response)
    if (pathname === '/messages') {
      streams.get(searchParams.get('session') ?? '')?.receive(JSON.parse(body) as JSONRPCMessage) // a test's own bytes
      return void response.writeHead(202).end()
    }
    const key = String(request.headers['x-key'] ?? '')
    const handler = createMcpHandler(() => {
      const made = aServer()
      if (pathname !== '/leak') return made
      made.registerTool('tell_key', { description: `the key is ${key}` }, async () => ({
        content: [{ type: 'text', text: `${key} ${Buffer.from(key).toString('base64')}` }],
      }))
      return made
    })
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    void handler
      .fetch(
        new Request(`http://${request.headers.host}${request.url}`, {
          method: request.method ?? 'GET',
          headers,
          ...(body === '' ? {} : { body }),
        }),
      )
      .then(async (reply) => {
        response.writeHead(reply.status, Object.fromEntries(reply.headers))
        for await (const chunk of reply.body ?? []) response.write(chunk)
        response.end()
      })
  })

  function openStream(method: string, response: ServerResponse): void {
    if (method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
    const session = randomUUID()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (name: string, data: string) => response.write(`event: ${name}\ndata: ${data}\n\n`)
    event('endpoint', `/messages?session=${session}`)
    const transport: Transport = {
      start: async () => {},
      close: async () => void response.end(),
      send: async (message) => void event('message', JSON.stringify(message)),
    }
    streams.set(session, { send: () => {}, receive: (message) => transport.onmessage?.(message) })
    void aServer().connect(transport)
    response.once('close', () => streams.delete(session))
  }

  return server
}
