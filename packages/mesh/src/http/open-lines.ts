import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createRoster } from '../platform/index.ts'

/**
 * Ends every connection with its server. Node hangs up on those that it still serves, but a line that it gave away, for a
 * socket or for what was refused one, is nobody's: as long as its far end keeps it, the server would never have closed.
 */
export function endLinesWithServer(server: FastifyInstance): void {
  const open = createRoster<Socket>()
  let isClosing = false
  server.server.prependListener('connection', (line) => {
    // What is accepted while the server closes is asked nothing any more.
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
