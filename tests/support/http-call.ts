import { Agent, request } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { patient } from './patience.ts'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  json(): Record<string, unknown>
}

export interface HttpCall {
  readonly method: string
  readonly url: string
  readonly headers?: OutgoingHttpHeaders
  /** Sent unchanged; an async source is sent without Content-Length. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Uses an open connection of an earlier call if one exists; otherwise each call has its own connection. */
  readonly reuses?: boolean
}

const openConnections = new Agent({ keepAlive: true })

/** Sends one raw request: only Host and Content-Length are added, and the path is not normalized. */
export function httpCall(call: HttpCall): Promise<Reply> {
  const { method, url, body, timeoutMs = patient(60_000) } = call
  // Node adds Content-Length by itself for some methods only.
  const known = typeof body === 'string' || body instanceof Uint8Array
  const headers = { ...(known ? { 'content-length': Buffer.byteLength(body) } : {}), ...call.headers }
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      timeout: timeoutMs,
      agent: call.reuses === true ? openConnections : false,
      ...(call.signal ? { signal: call.signal } : {}),
    }
    const sent = request(url, options, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('error', reject)
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          text,
          json: () => JSON.parse(text) as Record<string, unknown>,
        })
      })
    })
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${url}: no answer in ${timeoutMs} ms`)))
    sent.on('error', reject)
    if (body === undefined) sent.end()
    else if (typeof body === 'string' || body instanceof Uint8Array) sent.end(body)
    else {
      void (async () => {
        // The server may answer and close the connection before the whole body is sent.
        for await (const chunk of body) if (!sent.destroyed) sent.write(chunk)
        sent.end()
      })().catch(reject)
    }
  })
}
