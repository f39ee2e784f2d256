import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** A call as a test server saw it. */
export interface SeenCall {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** For tests: an HTTP server on a free port of 127.0.0.1 that sends given answers and records requests. */
export async function startLoopbackServer(
  answer: (call: SeenCall, reply: ServerResponse, nth: number) => void,
): Promise<{ url: string; calls: readonly SeenCall[]; [Symbol.asyncDispose](): Promise<void> }> {
  const calls: SeenCall[] = []
  const server = createServer((request, reply) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const call = { method, url, headers, body: Buffer.concat(parts).toString('utf8') }
      calls.push(call)
      answer(call, reply, calls.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null)
    throw new Error('a listening TCP server has an address')
  return {
    url: `http://127.0.0.1:${address.port}`,
    calls,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

export function answerJson(reply: ServerResponse, status: number, body: unknown): void {
  reply.writeHead(status, {
    'content-type': status < 400 ? 'application/json' : 'application/problem+json',
  })
  reply.end(JSON.stringify(body))
}
