import { createServer } from 'node:http'
import { connect } from 'node:net'

/** The baseline: a proxy with CONNECT only, to any target. Sends its port to the parent process. */
if (import.meta.main) {
  const server = createServer()
  server.on('connect', (request, near, head) => {
    const [host = '', port = ''] = (request.url ?? '').split(':')
    const far = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true }, () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) far.write(head)
      near.pipe(far)
      far.pipe(near)
    })
    far.on('error', () => near.destroy())
    near.on('error', () => far.destroy())
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.({ port: typeof address === 'object' ? address?.port : null })
  })
  process.once('disconnect', () => process.exit(0))
}
