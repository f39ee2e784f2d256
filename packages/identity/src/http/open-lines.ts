import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createRoster } from '@flotilla/foundation/platform'

/**
 * Closes every connection with its server. Node closes those that it still serves, but not a connection that
 * was upgraded or whose upgrade was refused: while its peer kept it open, the server would never close.
 */
export function endLinesWithServer(server: FastifyInstance): void {
  const open = createRoster<Socket>()
  let isClosing = false
  server.server.prependListener('connection', (line) => {
    // Connections that are accepted while the server closes are not served.
    if (isClosing) {
      line.destroy()
      return
    }
    line.once('close', open.join(line))
  })
  server.addHook('preClose', async () => {
    isClosing = true
    for (const line of open.members()) line.destroy()
  })
}
