import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { MeshFetch, MeshReader, MeshReply } from './mesh-reply.ts'

/** The longest time without data from the mesh, as in the `fetch` of Node. */
const silenceMaxMs = 300_000

/**
 * A `fetch` for short-lived programs that call a mesh over plain HTTP: loading Node's own takes longer than a command
 * that asks the mesh once. Other addresses get Node's own.
 */
export const nodeFetch: MeshFetch = (url, request) => {
  if (url.protocol !== 'http:') return globalThis.fetch(url, request)
  const { method, headers, signal, body } = request
  return new Promise((resolve, reject) => {
    // Each call has its own connection, so that none is sent on one that the mesh is closing.
    const call = httpRequest(url, {
      method,
      headers,
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    })
    call.setTimeout(silenceMaxMs, () => call.destroy(new Error(`no data for ${silenceMaxMs / 1000} s`)))
    call.on('error', reject)
    call.on('response', (message) => {
      const status = message.statusCode ?? 0
      if (status < 300 || status >= 400) return resolve(replyOf(message, status))
      call.destroy(new Error(`unexpected redirect with status ${status}`))
    })
    call.end(body)
  })
}

function replyOf(message: IncomingMessage, status: number): MeshReply {
  // The reader of the body gets the error; without this listener it would also end the process.
  message.on('error', () => undefined)
  const bytes = async () => Buffer.concat(await Array.fromAsync<Buffer>(message))
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: { get: (name) => [message.headers[name.toLowerCase()] ?? []].flat().join(', ') || null },
    text: async () => (await bytes()).toString('utf8'),
    arrayBuffer: async () => Uint8Array.from(await bytes()).buffer,
    body: { getReader: () => readerOf(message) },
  }
}

function readerOf(message: IncomingMessage): MeshReader {
  const pieces: AsyncIterator<Buffer> = message[Symbol.asyncIterator]()
  return {
    read: async () => {
      const piece = await pieces.next()
      return piece.done === true ? { done: true } : { done: false, value: piece.value }
    },
    cancel: async () => void message.destroy(),
  }
}
