import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface ConnectProxy {
  readonly url: string
  readonly port: number
  /** Requests in order: `CONNECT host:port`, or `GET http://...` for plain HTTP. */
  readonly asked: string[]
  /** The `proxy-authorization` header of each request, in order; empty when absent. */
  readonly authorizations: string[]
  /** Answers all further requests with this status and opens no connection; null opens connections again. */
  refuseWith(status: number | null): void
  close(): Promise<void>
}

/**
 * A proxy on loopback that records its requests. It connects names to the ports in `to`, so that a test can use names
 * that do not resolve.
 */
export async function startConnectProxy(to: Readonly<Record<string, number>> = {}): Promise<ConnectProxy> {
  const requests: string[] = []
  const authorizations: string[] = []
  const sockets = new Set<Socket>()
  let refusal: number | null = null
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    response.writeHead(502).end('a stranger read this')
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.on('connect', (request, socket, head) => {
    const target = request.url ?? ''
    requests.push(`CONNECT ${target}`)
    authorizations.push(request.headers['proxy-authorization'] ?? '')
    socket.on('error', () => {})
    if (refusal !== null) return void socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`)
    const { hostname, port } = new URL(`http://${target}`)
    const far = connect({ host: '127.0.0.1', port: to[hostname] ?? Number(port || 80) }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) far.write(head)
      far.pipe(socket).pipe(far)
    })
    sockets.add(far)
    far
      .on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'))
      .on('close', () => sockets.delete(far))
    socket.on('close', () => far.destroy())
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked: requests,
    authorizations,
    refuseWith: (status) => {
      refusal = status
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
