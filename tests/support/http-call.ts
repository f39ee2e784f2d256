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
  /** Sent as it stands; an async source goes without Content-Length. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** On a connection that calls before it have left open, where there is one; else each has its own. */
  readonly reuses?: boolean
}

const openConnections = new Agent({ keepAlive: true })

/** One request as raw as it is given: no header is added but Host and the length, the path is not folded. */
export function httpCall(call: HttpCall): Promise<Reply> {
  const { method, url, body, timeoutMs = patient(60_000) } = call
  // Node adds the length by itself for some methods only.
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
        // The far end may answer and hang up before all is sent.
        for await (const chunk of body) if (!sent.destroyed) sent.write(chunk)
        sent.end()
      })().catch(reject)
    }
  })
}
