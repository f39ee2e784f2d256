import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** An undocumented field of the connections of Node's server; tests check that it still works. */
interface ServedSocket extends Socket {
  readonly parser?: { onIncoming: OnIncoming | null } | null
  /** The response that is in progress, until it is finished. */
  readonly _httpMessage?: ServerResponse | null
}
type OnIncoming = (request: IncomingMessage, keepAlive: boolean) => number

/** Return value with which Node's parser leaves the rest of its input unread. */
const stopReading = -1

/**
 * Closes a connection that sends a request before the response to its last one is finished. Node reads up to
 * 64 KB at once and creates a request, a response and an event for each 28 bytes in it before any handler
 * can stop it. No event comes early enough, so this code is between Node's parser and server.
 */
export function oneRequestAtATime(server: Server): void {
  server.on('connection', (socket: ServedSocket) => {
    const { parser } = socket
    const serve = parser?.onIncoming
    // Without this protection the connection is not served.
    if (!parser || !serve) {
      socket.destroy()
      return
    }
    parser.onIncoming = (request, keepAlive) => {
      if (!socket.destroyed && !socket._httpMessage) return serve(request, keepAlive)
      socket.destroy()
      return stopReading
    }
  })
}
