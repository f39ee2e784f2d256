import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { wholeBody } from './whole-body.ts'

export interface WebServer {
  readonly port: number
  readonly requests: {
    readonly method: string
    readonly url: string
    readonly headers: IncomingMessage['headers']
    readonly body: string
  }[]
  close(): Promise<void>
}

/** A web server on loopback that records its requests. */
export async function startWebServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<WebServer> {
  const requests: WebServer['requests'] = []
  const server = createServer((request, response) => {
    void (async () => {
      const body = (await wholeBody(request))?.toString()
      if (body === undefined) return
      requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      answer(request, response)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
