import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { WatchMode } from '@flotilla/protocol/browser-service-api'
import { WebSocketServer } from 'ws'
import type { RawData, WebSocket } from 'ws'
import { createInputFilter } from './filter-input.ts'

/** People who watch the screen, each over a WebSocket. */
export interface Watchers {
  readonly count: number
  readonly mode: WatchMode
  setMode(mode: WatchMode): void
  /** Connects a person to the screen; `watcher` contains the rights that the mesh grants. */
  admit(call: {
    readonly request: IncomingMessage
    readonly socket: Duplex
    readonly head: Buffer
    readonly screenPath: string
    readonly watcher: WatchMode
  }): void
  /** Disconnects all watchers. */
  close(): void
}

export const watchersMax = 8
const messageMaxBytes = 256 * 1024
/** The maximum data that waits for a slow watcher, in bytes. Above it, reading from the screen pauses. */
const waitingMaxBytes = 4 * 1024 * 1024

/** WebSocket close codes: going away, and policy violation. */
const closeCodes = { gone: 1001, refused: 1008 } as const

export function createWatchers(): Watchers {
  const sockets = new Set<WebSocket>()
  let mode: WatchMode = 'view'
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: messageMaxBytes,
    handleProtocols: (offered) => (offered.has('binary') ? 'binary' : false),
  })

  function join(webSocket: WebSocket, screenPath: string, watcher: WatchMode): void {
    sockets.add(webSocket)
    const screen = connect(screenPath)
    const filter = createInputFilter()
    screen.on('data', (bytes) => {
      webSocket.send(bytes, () => {
        if (webSocket.bufferedAmount <= waitingMaxBytes) screen.resume()
      })
      if (webSocket.bufferedAmount > waitingMaxBytes) screen.pause()
    })
    webSocket.on('message', (data: RawData) => {
      const passed = filter.pass(bytesOf(data), watcher === 'control' && mode === 'control')
      if (passed === null) webSocket.close(closeCodes.refused)
      else if (passed.length > 0) screen.write(passed)
    })
    const end = (): void => {
      sockets.delete(webSocket)
      screen.destroy()
      webSocket.close(closeCodes.gone)
    }
    screen.on('close', end).on('error', end)
    webSocket.on('close', end).on('error', end)
  }

  return {
    get count() {
      return sockets.size
    },
    get mode() {
      return mode
    },
    setMode: (requested) => {
      mode = requested
    },
    admit({ request, socket, head, screenPath, watcher }) {
      server.handleUpgrade(request, socket, head, (webSocket) => join(webSocket, screenPath, watcher))
    },
    close() {
      for (const webSocket of sockets) webSocket.close(closeCodes.gone)
    },
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}
