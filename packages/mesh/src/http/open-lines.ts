import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Ends every connection with its server. Node hangs up on those that it still serves, but a line that it gave away, for a
 * socket or for what was refused one, is nobody's: as long as its far end keeps it, the server would never have closed.
 */
export function endLinesWithServer(server: FastifyInstance): void {
  const open = new Set<Socket>()
  let isClosing = false
  server.server.prependListener('connection', (line) => {
    // What is accepted while the server closes is asked nothing any more.
    if (isClosing) {
      line.destroy()
      return
    }
    open.add(line)
    line.once('close', () => open.delete(line))
  })
  server.addHook('preClose', async () => {
    isClosing = true
    for (const line of open) line.destroy()
  })
}
