import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { browserProxyUser } from '@flotilla/protocol/browser-service-api'

export interface ProxyRelay {
  readonly port: number
  close(): Promise<void>
}

/** A name that never resolves (RFC 6761), for requests that must not leave at all. */
export const nowhere = 'nowhere.invalid'

const connectionsMax = 256
const headMaxBytes = 64 * 1024
const connectMaxMs = 30_000

/**
 * The proxy that Chromium uses. It forwards every request to the mesh's proxy and adds the token, which Chromium
 * never learns. The mesh's proxy decides what is allowed.
 */
export async function startProxyRelay(options: {
  readonly proxy: { readonly host: string; readonly port: number }
  readonly token: string
}): Promise<ProxyRelay> {
  const { host, port } = options.proxy
  const proof = `Basic ${Buffer.from(`${browserProxyUser}:${options.token}`).toString('base64')}`
  const server = createServer({ maxHeaderSize: headMaxBytes }, (incoming, response) => {
    if (incoming.url?.startsWith(`http://${nowhere}/`)) response.writeHead(502).end()
    else passOn(incoming, response)
  })

  function passOn(incoming: IncomingMessage, response: ServerResponse): void {
    const outgoing = request({
      host,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: [...withoutProof(incoming.rawHeaders), 'Proxy-Authorization', proof],
      setHost: false,
    })
    outgoing.on('response', (answer) => {
      response.writeHead(statusFor(answer.statusCode), answer.rawHeaders)
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    outgoing.on('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end()
    })
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }

  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    // A killed Chromium resets its connections, including rejected ones.
    client.on('error', () => client.destroy())
    const target = incoming.url ?? ''
    if (target.startsWith(`${nowhere}:`)) client.end('HTTP/1.1 502 Refused\r\n\r\n')
    else openTunnel(target, client, head)
  })

  function openTunnel(target: string, client: Duplex, head: Buffer): void {
    const upstream = connect({ host, port })
    upstream.setTimeout(connectMaxMs, () => upstream.destroy())
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    upstream.on('error', end).on('close', end)
    client.on('close', end)
    // `target` contains no line break, because Node's HTTP parser rejects one.
    upstream.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: ${proof}\r\n\r\n`)
    readHead(upstream, (answer) => {
      upstream.setTimeout(0)
      client.write(answer)
      if (head.length > 0) upstream.write(head)
      client.pipe(upstream)
      upstream.pipe(client)
    })
  }

  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Reads the head of the proxy's answer to a CONNECT, and data after it. Disconnects if the head is too long. */
function readHead(upstream: Socket, done: (answer: Buffer) => void): void {
  let answer = Buffer.alloc(0)
  const onData = (chunk: Buffer): void => {
    answer = Buffer.concat([answer, chunk])
    if (answer.length > headMaxBytes) upstream.destroy()
    if (!answer.includes('\r\n\r\n')) return
    upstream.off('data', onData)
    upstream.pause()
    // A 407 would make Chromium ask the watching person for a password, so it becomes a 502.
    done(
      Buffer.from(
        answer.toString('latin1').replace(/^HTTP\/1\.1 407[^\r]*/, 'HTTP/1.1 502 Refused'),
        'latin1',
      ),
    )
  }
  upstream.on('data', onData)
}

function statusFor(status = 502): number {
  return status === 407 ? 502 : status
}

function withoutProof(rawHeaders: readonly string[]): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (name.toLowerCase() !== 'proxy-authorization') kept.push(name, value)
  }
  return kept
}
