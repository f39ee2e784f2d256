import { pipeline } from 'node:stream/promises'
import { Transform } from 'node:stream'
import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { returnedHeaders } from '../../egress/index.ts'
import type { Upstream } from './connect-upstream.ts'
import type { AnswerFilter } from './forward-inspected.ts'
import { rawHeaders } from './upstream-request.ts'

/** The status of an answer that changes the protocol. */
const switchingProtocols = 101
/** The listeners of TLS, HTTP and the pipeline of one connection for one event; Node warns above this number. */
const listenersMax = 20
/** A chunk of fewer bytes is small: it costs the mesh as much as one of a kilobyte. */
const smallBelowBytes = 1024
/** How many small chunks of a WebSocket pass in each direction without a pause; further ones wait. */
const smallBurst = 2000
/** How many small chunks a second pass in each direction after the first ones. */
const smallPerSecond = 200

/**
 * Opens a WebSocket to the host and carries its frames both ways until either side ends. Resolves, once it is open, to
 * the status. Rejects with the problem `upstream-failed` if the host does not open it.
 */
export async function openWebSocket(
  upstream: Upstream,
  exchange: {
    readonly client: Duplex
    /** What the client has sent behind its request. */
    readonly head: Uint8Array
    readonly host: string
    readonly path: string
    /** The headers as they leave, names and values in turn, without connection and upgrade. */
    readonly headers: readonly string[]
    readonly answer: Pick<AnswerFilter, 'headers'>
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<number> {
  const { client, head, host, path, clock, signal } = exchange
  const opened = await upstream
    .upgrade({ path, headers: [...exchange.headers], protocol: 'websocket', responseHeaders: 'raw', signal })
    .catch((error: unknown) => {
      if (signal.aborted) throw signal.reason
      throw new Problem('upstream-failed', { detail: `${host} did not open a WebSocket`, cause: error })
    })
  const answered = exchange.answer.headers(returnedHeaders(rawHeaders(opened.headers)))
  const lines: string[] = []
  for (let at = 0; at + 1 < answered.length; at += 2) lines.push(`${answered[at]}: ${answered[at + 1]}`)
  const opening = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket', ...lines]
  client.write([...opening, '', ''].join('\r\n'), 'latin1')
  if (head.length > 0) client.unshift(head)
  for (const side of [client, opened.socket]) side.setMaxListeners(listenersMax)
  const [there, back] = [paced(clock, signal), paced(clock, signal)]
  void pipeline(client, there, opened.socket, back, client, { signal }).catch(() => {
    opened.socket.destroy()
    client.destroy()
  })
  return switchingProtocols
}

/** Passes chunks on; many small ones, each of which would cost a turn of the event loop, have to wait. */
function paced(clock: Clock, signal: AbortSignal): Transform {
  let left = smallBurst
  let countedAt = clock.now()
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (chunk.length >= smallBelowBytes) return done(null, chunk)
      const now = clock.now()
      left = Math.min(smallBurst, left + ((now - countedAt) / 1000) * smallPerSecond) - 1
      countedAt = now
      if (left >= 0) return done(null, chunk)
      clock.sleep((-left / smallPerSecond) * 1000, signal).then(() => done(null, chunk), done)
    },
  })
}
