import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { Problem } from '@flotilla/protocol/problem'

/** How long the server may take for the TLS handshake, in milliseconds. */
const handshakeTimeoutMs = 10_000

/** A version of HTTP, as TLS negotiates it (ALPN). */
export type Protocol = 'h2' | 'http/1.1'

/** Completes TLS on a connection to a server. Its certificate must be valid for the host. */
export type SecureServer = (
  socket: Socket,
  server: { readonly host: string; readonly offered: readonly Protocol[] },
  signal: AbortSignal,
) => Promise<TLSSocket>

/** `authorities` replaces the certificate authorities that the mesh trusts. */
export const createSecureServer =
  (authorities?: readonly string[]): SecureServer =>
  async (socket, { host, offered }, signal) => {
    const server = connect({
      socket,
      ...(authorities === undefined ? {} : { ca: [...authorities] }),
      ...(isIP(host) === 0 ? { servername: host } : { host }),
      ALPNProtocols: [...offered],
      minVersion: 'TLSv1.2',
    })
    const cut = () => server.destroy()
    signal.addEventListener('abort', cut, { once: true })
    server.setTimeout(handshakeTimeoutMs, cut)
    // The HTTP client that uses the connection later stops listening before the last error may come.
    server.on('error', () => {})
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('secureConnect', resolve)
        server.once('error', reject)
        server.once('close', () => reject(new Error('the server closed the connection')))
      })
      server.setTimeout(0).removeAllListeners('timeout')
      return server
    } catch (error) {
      server.destroy()
      socket.destroy()
      if (signal.aborted) throw signal.reason
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
      throw new Problem('upstream-failed', {
        detail: `the TLS handshake with ${host} failed${code}; the mesh accepts only certificates that this machine trusts`,
        cause: error,
      })
    } finally {
      signal.removeEventListener('abort', cut)
    }
  }

/** The version of HTTP that a connection carries; one without negotiation carries HTTP/1.1. */
export function protocolOf(connection: TLSSocket): Protocol {
  return connection.alpnProtocol === 'h2' ? 'h2' : 'http/1.1'
}
