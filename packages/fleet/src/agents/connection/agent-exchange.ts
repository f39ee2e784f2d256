import { request as openRequest } from 'node:http'
import type { Agent, IncomingMessage } from 'node:http'
import type { Method } from '@flotilla/protocol/endpoint'

/** One HTTP call to an agent's process. */
interface AgentCall {
  readonly method: Method
  /** Path with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** The connection counts as broken after this time without traffic, milliseconds. */
  readonly idleTimeoutMs: number
  readonly signal: AbortSignal
  /** Called when the agent's server accepts the connection, before it is known whether a reply will come. */
  readonly onTaken?: (() => void) | undefined
}

export interface AgentAddress {
  readonly host: string
  readonly port: number
}

/** Limit of the headers of one reply, names and values together, bytes. */
const replyHeadersMaxBytes = 16 * 1024

/** Thrown if the agent sent nothing for too long, sent too much, or disconnected. */
export class BrokenLine extends Error {
  override readonly name = 'BrokenLine'
}

/**
 * Sends a call and resolves with the reply's head. If the agent has closed the pooled connection, the call is sent
 * once more over a new one: all calls are safe to repeat, since runs attach and files are written whole.
 */
export async function openExchange(
  http: Agent,
  address: AgentAddress,
  call: AgentCall,
): Promise<IncomingMessage> {
  try {
    return await openOnce(http, address, call)
  } catch (error) {
    if (error instanceof StaleConnection && !call.signal.aborted) return openOnce(http, address, call)
    throw error
  }
}

class StaleConnection extends BrokenLine {}

function openOnce(http: Agent, address: AgentAddress, call: AgentCall): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = openRequest({
      agent: http,
      host: address.host,
      port: address.port,
      method: call.method,
      path: call.path,
      headers: { ...call.headers, 'content-length': call.body?.byteLength ?? 0 },
      signal: call.signal,
      timeout: call.idleTimeoutMs,
      maxHeaderSize: replyHeadersMaxBytes,
    })
    const { onTaken } = call
    if (onTaken) {
      request.once('socket', (socket) => {
        if (socket.connecting) socket.once('connect', onTaken)
        else onTaken()
      })
    }
    request.on('timeout', () =>
      request.destroy(new BrokenLine(`the agent sent nothing for ${call.idleTimeoutMs} ms`)),
    )
    request.on('response', resolve)
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (call.signal.aborted) reject(call.signal.reason)
      else if (request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) {
        reject(new StaleConnection(error.message))
      } else reject(error)
    })
    request.end(call.body)
  })
}

/** Returns the whole body. Disconnects and rejects if it exceeds `maxBytes`, is incomplete, or `hold` throws. */
export async function readBody(
  reply: IncomingMessage,
  { maxBytes, hold }: { readonly maxBytes: number; readonly hold: (bytes: number) => void },
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of bodyChunks(reply, maxBytes, signal)) {
    hold(chunk.length)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Yields the body of a reply as it arrives. A caller that leaves the loop early closes the connection. */
export async function* bodyChunks(
  reply: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let size = 0
  try {
    for await (const chunk of reply) {
      const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
      size += bytes.byteLength
      if (size > maxBytes) throw new OverlongReply(`the reply is longer than ${maxBytes} bytes`)
      yield bytes
    }
  } catch (error) {
    reply.destroy()
    if (signal.aborted) throw signal.reason
    if (error instanceof OverlongReply) throw error
    throw new BrokenLine(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** Thrown when the body of an agent's reply exceeds its size limit. */
export class OverlongReply extends Error {
  override readonly name = 'OverlongReply'
}
