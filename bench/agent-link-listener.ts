import { createServer } from 'node:http'
import { createLinkedListener } from '../packages/identity/src/http/link/linked-listener.ts'
import { agentConnectionBounds } from '../packages/identity/src/http/bound-connections.ts'
import { silentLog } from '../packages/foundation/src/platform/log.ts'

/**
 * An API that answers with as many bytes as its path says, in plain HTTP or over encrypted connections. Sends its
 * port to the parent process.
 */
const [kind = 'plain', key = ''] = process.argv.slice(2)

if (import.meta.main) {
  const server = createServer((request, response) => {
    response.end(Buffer.alloc(Number(request.url?.slice(1))))
  })
  const where = { port: 0, host: '127.0.0.1' }
  const told = (port: number | null) => process.send?.({ port })
  if (kind === 'keyed') {
    const found = { agentId: 'scout', key: Buffer.from(key, 'hex') }
    const listener = createLinkedListener({
      server,
      keyOf: () => found,
      bounds: agentConnectionBounds,
      log: silentLog,
    })
    await listener.listen(where)
    told(listener.port())
  } else {
    server.listen(where, () => {
      const address = server.address()
      told(typeof address === 'object' ? (address?.port ?? null) : null)
    })
  }
  process.once('disconnect', () => process.exit(0))
}
