import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import type { HandshakeFailure } from '@flotilla/protocol/inspection-api'
import type { Protocol } from './secure-server.ts'

/** How long a client may take for the TLS handshake, in milliseconds. */
const handshakeTimeoutMs = 10_000

/**
 * Alerts of a client that does not trust the authority of the fleet: it pins a certificate, or has its own list of
 * authorities.
 */
const untrustedAlerts =
  /ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)/

/** The client over TLS, or why the handshake failed. */
export type AcceptedClient =
  | { readonly ok: true; readonly client: TLSSocket }
  | { readonly ok: false; readonly why: HandshakeFailure }

/**
 * Completes the TLS handshake of a client as the server of `host`. The name that the client states in TLS must be the
 * host of the connection; a client may state none.
 */
export async function acceptClient(
  near: Socket,
  options: {
    readonly host: string
    readonly context: SecureContext
    readonly head: Uint8Array
    readonly signal: AbortSignal
    /** The versions of HTTP that the client may choose from, the preferred one first. */
    readonly offered: readonly Protocol[]
    readonly clock: Clock
  },
): Promise<AcceptedClient> {
  const { host, context, signal } = options
  if (options.head.length > 0) near.unshift(options.head)
  let why: HandshakeFailure = 'closed'
  const client = new TLSSocket(near, {
    isServer: true,
    secureContext: context,
    ALPNProtocols: [...options.offered],
    SNICallback: (name, callback) => {
      if (name.toLowerCase().replace(/\.$/, '') === host) {
        callback(null, context)
        return
      }
      why = 'wrong-name'
      callback(new Error('the client names another host in TLS than in its request to the proxy'))
    },
  })
  const cut = () => client.destroy()
  const done = new AbortController()
  signal.addEventListener('abort', cut, { once: true, signal: done.signal })
  void options.clock.sleep(handshakeTimeoutMs, done.signal).then(cut, () => {})
  const isSecure = await new Promise<boolean>((resolve) => {
    client.once('secure', () => resolve(true))
    client.on('error', (error: Error & { readonly code?: string }) => {
      if (why === 'closed' && error.code !== undefined && error.code !== 'ECONNRESET')
        why = untrustedAlerts.test(error.code) ? 'untrusted' : 'no-tls'
    })
    client.once('close', () => resolve(false))
  })
  done.abort()
  if (isSecure) {
    // HTTP/2 waits for this mark, which Node's own TLS server sets.
    Object.assign(client, { secureConnecting: false })
    return { ok: true, client }
  }
  near.destroy()
  return { ok: false, why }
}
