import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP } from 'node:net'
import type { Socket } from 'node:net'

/** The proxy that a tunnel goes through. */
export interface TunnelProxy {
  readonly protocol: 'http:' | 'https:'
  readonly host: string
  readonly port: number
  /** The proxy's address without user name and password. */
  readonly shown: string
  /** The value of `proxy-authorization`; null for none. */
  readonly authorization: () => string | null
}

/** Timeout until a proxy has opened a tunnel, however slowly its answer arrives, in milliseconds. */
const tunnelMaxMs = 30_000
/** Limit of the head of the proxy's answer, in bytes. */
const answerMaxBytes = 16 * 1024

export const proxyFailedCode = 'PROXY_FAILED'

/** The error if the proxy did not open the tunnel; its message names the proxy and contains no secret. */
export class ProxyFailed extends Error {
  /** The HTTP status of the proxy's answer; null if the proxy did not answer. */
  readonly status: number | null
  /** Identifies this error if a library wraps it in its own. */
  readonly code = proxyFailedCode

  constructor(message: string, status: number | null) {
    super(message)
    this.status = status
  }
}

/**
 * Requests a connection to `host:port` from a proxy by CONNECT. `done` is called once, with the connection, from
 * which nothing was read yet, or a `ProxyFailed`. Returns a function that cancels, after which `done` is not called.
 */
export function openTunnel(
  to: {
    readonly proxy: TunnelProxy
    readonly host: string
    readonly port: number
    /** Replaces the usual time limit, milliseconds. */
    readonly maxMs?: number
  },
  done: (error: ProxyFailed | null, socket: Socket | null) => void,
): () => void {
  const { proxy, maxMs = tunnelMaxMs } = to
  const target = `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`
  const authorization = proxy.authorization()
  const over = new AbortController()
  const finish = (error: ProxyFailed | null, socket: Socket | null): void => {
    if (over.signal.aborted) return
    over.abort()
    done(error, socket)
  }
  const open = proxy.protocol === 'https:' ? requestTls : requestPlain
  const connectRequest = open({
    host: proxy.host,
    port: proxy.port,
    // Without this option, Node would verify the proxy under the target's name from the Host header.
    servername: isIP(proxy.host) === 0 ? proxy.host : '',
    method: 'CONNECT',
    path: target,
    // A separate connection that ignores the proxy variables of the environment.
    agent: false,
    maxHeaderSize: answerMaxBytes,
    headers: {
      host: target,
      ...(authorization === null ? {} : { 'proxy-authorization': authorization }),
    },
  })
  const giveUpLate = (): void => {
    finish(new ProxyFailed(lateWords(proxy, maxMs), null), null)
    connectRequest.destroy()
  }
  AbortSignal.timeout(maxMs).addEventListener('abort', giveUpLate, { once: true, signal: over.signal })
  connectRequest.on('connect', (reply, socket, head) => {
    const status = reply.statusCode ?? 0
    if (status >= 200 && status < 300 && !over.signal.aborted) {
      // Bytes of a far end that speaks first may arrive together with the proxy's answer.
      if (head.length > 0) socket.unshift(head)
      return finish(null, socket)
    }
    socket.destroy()
    return finish(new ProxyFailed(refusalWords(proxy, target, status), status), null)
  })
  connectRequest.on('error', (error: NodeJS.ErrnoException) => {
    const code = error.code === undefined ? '' : ` (${error.code})`
    finish(new ProxyFailed(`the proxy ${proxy.shown} does not answer${code}`, null), null)
  })
  connectRequest.end()
  return () => {
    over.abort()
    connectRequest.on('error', () => {}).destroy()
  }
}

/** Explains each status and its repair. */
function refusalWords({ shown }: TunnelProxy, target: string, status: number): string {
  // tinyproxy uses 401.
  if (status === 407 || status === 401)
    return `the proxy ${shown} requires a user name and a password, or rejected the ones in its variable (${status}): write them into HTTP_PROXY or HTTPS_PROXY as http://USER:PASSWORD@HOST:PORT, with special characters escaped by percent signs`
  const refusal = `the proxy ${shown} did not open a connection to ${target} (${status})`
  if (status === 403 || status === 405)
    return `${refusal}: the rules of the proxy forbid it; ask the administrator of the proxy to allow this destination${target.endsWith(':443') ? '' : ', since many proxies open port 443 alone'}, or list the destination in NO_PROXY`
  if (status === 502 || status === 503 || status === 504)
    return `${refusal}: the proxy cannot reach that destination; try again, or read the log of the proxy`
  return refusal
}

function lateWords({ shown }: TunnelProxy, maxMs: number): string {
  return `the proxy ${shown} does not answer within ${maxMs / 1000} s: check that the proxy runs, and that its address in HTTP_PROXY or HTTPS_PROXY is correct`
}
