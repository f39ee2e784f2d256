/**
 * The connection between the mesh and an agent on another machine: TLS 1.3 with one key for each start of the agent,
 * which only the mesh and that process have. Both sides prove that they have the key, so no certificates are needed.
 * The keys of a connection are fresh (elliptic curve and ML-KEM), and the agent's next start has another key.
 */
const version = 'TLSv1.3'

const agentLinkOptions = {
  minVersion: version,
  maxVersion: version,
  /** TLS 1.3 sessions with a pre-shared key use SHA-256 only. */
  ciphers: 'TLS_AES_128_GCM_SHA256',
  /** Disables Nagle's algorithm, as HTTP does: small frames of a stream must not wait for each other. */
  noDelay: true,
} as const

export interface AgentLinkKey {
  /** Identifies one start of one agent; not a secret. */
  readonly identity: string
  /** 256 bits. */
  readonly key: Uint8Array
}

/** Bootstrap files that can be read only once: the agent reads them at its start. */
export const doorTokenFile = 'door-token'
export const linkKeyFile = 'link-key'
export const onceFiles: readonly string[] = [doorTokenFile, linkKeyFile]

/** Set for an agent whose connections are authenticated by a key. */
export const agentLinkVariables = {
  identity: 'FLOTILLA_LINK',
  proxyPort: 'FLOTILLA_LINK_PROXY_PORT',
} as const
/** The directory of one-time secrets, if it is not the mount of bootstrap files. */
export const onceFolderVariable = 'FLOTILLA_ONCE'

/** The time limit from the first byte of a connection until both sides are authenticated, in milliseconds. */
export const agentLinkHandshakeMaxMs = 10_000

/** Options for `tls.connect`. A peer that presents a certificate instead of the key is rejected. Pure. */
export function agentLinkClient({ identity, key }: AgentLinkKey) {
  return {
    ...agentLinkOptions,
    ca: [],
    pskCallback: () => ({ psk: key, identity }),
    // Node calls this only if the peer presents a certificate.
    checkServerIdentity: () => new Error('the far end showed a certificate and not the key of this start'),
  }
}

/** Options for `tls.createServer`; `keyOf` returns null for an identity that is not admitted (any more). Pure. */
export function agentLinkServer<Socket>(keyOf: (socket: Socket, identity: string) => Uint8Array | null) {
  return { ...agentLinkOptions, handshakeTimeout: agentLinkHandshakeMaxMs, pskCallback: keyOf }
}
