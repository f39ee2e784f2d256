import { Agent, createServer, request } from 'node:http'

/**
 * The lower bound of a proxy's cost: an HTTP server that passes on each call and its answer byte by byte and does
 * nothing else. Both sides use `node:http` with keep-alive. Arguments: the port of the upstream server.
 */
if (import.meta.main) {
  const upstreamPort = Number(process.argv[2])
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const server = createServer((incoming, outgoing) => {
    const onward = request(
      {
        host: '127.0.0.1',
        port: upstreamPort,
        agent,
        method: incoming.method,
        path: incoming.url,
        headers: incoming.headers,
      },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  server.keepAliveTimeout = 75_000
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.({ port: typeof address === 'object' ? address?.port : null })
  })
  process.once('disconnect', () => process.exit(0))
}
