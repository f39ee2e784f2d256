import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What Node's server keeps on a connection; it has no name for it in its documentation, so tests count what it does. */
interface ServedSocket extends Socket {
  readonly parser?: { onIncoming: OnIncoming | null } | null
  /** The answer that is being given, as long as it is not finished. */
  readonly _httpMessage?: ServerResponse | null
}
type OnIncoming = (request: IncomingMessage, keepAlive: boolean) => number

/** What makes Node's parser leave the rest of what it was given unread. */
const stopReading = -1

/**
 * Hangs up on a connection that sends a request before the answer to its last one is finished. Node reads up to 64 KB at
 * once and makes a request, an answer and an event of each 28 bytes in it before anybody can say stop; no event comes
 * early enough, nor for what Node refuses by itself, so this stands between its parser and its server.
 */
export function oneRequestAtATime(server: Server): void {
  server.on('connection', (socket: ServedSocket) => {
    const { parser } = socket
    const serve = parser?.onIncoming
    // Without the wall nobody is served.
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
