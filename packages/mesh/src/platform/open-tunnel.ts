import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP } from 'node:net'
import type { Socket } from 'node:net'

/** The proxy that a tunnel goes through. */
export interface TunnelProxy {
  readonly protocol: 'http:' | 'https:'
  readonly host: string
  readonly port: number
  /** Without a user name or a password. */
  readonly shown: string
  /** The value of `proxy-authorization`; null for none. */
  readonly authorization: () => string | null
}

/** Longest that a proxy is waited for until it opens a tunnel, milliseconds. */
const tunnelMaxMs = 30_000

export const proxyFailedCode = 'PROXY_FAILED'

/** The proxy did not open the tunnel; the message names it, and no secret. */
export class ProxyFailed extends Error {
  /** What it answered with; null where it did not answer. */
  readonly status: number | null
  /** Libraries hand on this code where they make an error of their own. */
  readonly code = proxyFailedCode

  constructor(message: string, status: number | null) {
    super(message)
    this.status = status
  }
}

/**
 * Asks a proxy by CONNECT for a connection to `host:port`. `done` is told once: the connection, over which nothing was sent
 * yet, or a `ProxyFailed`. Returns the way to give up, after which `done` is not told.
 */
export function openTunnel(
  to: { readonly proxy: TunnelProxy; readonly host: string; readonly port: number },
  done: (error: ProxyFailed | null, socket: Socket | null) => void,
): () => void {
  const { proxy } = to
  const target = `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`
  const authorization = proxy.authorization()
  let isOver = false
  const finish = (error: ProxyFailed | null, socket: Socket | null): void => {
    if (isOver) return
    isOver = true
    done(error, socket)
  }
  const open = proxy.protocol === 'https:' ? requestTls : requestPlain
  const asked = open({
    host: proxy.host,
    port: proxy.port,
    // Node would take the name of the far end from the Host header.
    servername: isIP(proxy.host) === 0 ? proxy.host : '',
    method: 'CONNECT',
    path: target,
    // A connection of its own, and never by what the environment says of proxies.
    agent: false,
    headers: {
      host: target,
      ...(authorization === null ? {} : { 'proxy-authorization': authorization }),
    },
  })
  asked.setTimeout(tunnelMaxMs, () => {
    finish(
      new ProxyFailed(`the proxy ${proxy.shown} does not answer within ${tunnelMaxMs / 1000} s`, null),
      null,
    )
    asked.destroy()
  })
  asked.on('connect', (reply, socket, head) => {
    socket.setTimeout(0)
    const status = reply.statusCode ?? 0
    const isOpen = status >= 200 && status < 300 && head.length === 0
    if (isOpen && !isOver) return finish(null, socket)
    socket.destroy()
    return finish(new ProxyFailed(refusalWords(proxy, target, status), status), null)
  })
  asked.on('error', (error: NodeJS.ErrnoException) => {
    const code = error.code === undefined ? '' : ` (${error.code})`
    finish(new ProxyFailed(`the proxy ${proxy.shown} does not answer${code}`, null), null)
  })
  asked.end()
  return () => {
    isOver = true
    asked.on('error', () => {}).destroy()
  }
}

function refusalWords({ shown }: TunnelProxy, target: string, status: number): string {
  if (status === 407)
    return `the proxy ${shown} wants a user name and a password, or refuses those that it was given (407)`
  return `the proxy ${shown} opens no connection to ${target} (${status})`
}
