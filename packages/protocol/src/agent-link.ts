/**
 * The line between the mesh and an agent on another machine: TLS 1.3 with one key for each start of the agent, which only
 * the mesh and that process hold. Both sides prove that they have it, so there are no certificates to make, to check or to
 * let run out; keys of a connection are fresh (elliptic curve and ML-KEM), and the next start has another key.
 */
const version = 'TLSv1.3'

const agentLinkOptions = {
  minVersion: version,
  maxVersion: version,
  /** Keys that are shared ahead go with SHA-256 alone. */
  ciphers: 'TLS_AES_128_GCM_SHA256',
  /** As HTTP has it: small frames of a stream must not wait for each other. */
  noDelay: true,
} as const

export interface AgentLinkKey {
  /** Which start of which agent; no secret. */
  readonly identity: string
  /** 256 bits. */
  readonly key: Uint8Array
}

/** Bootstrap files that can be read only once: by the agent at its start. */
export const doorTokenFile = 'door-token'
export const linkKeyFile = 'link-key'
export const onceFiles: readonly string[] = [doorTokenFile, linkKeyFile]

/** Set for an agent whose lines are keyed. */
export const agentLinkVariables = {
  identity: 'FLOTILLA_LINK',
  proxyPort: 'FLOTILLA_LINK_PROXY_PORT',
} as const
/** The directory of one-time secrets, if it is not the mount of bootstrap files. */
export const onceFolderVariable = 'FLOTILLA_ONCE'

/** From the first byte of a connection to both sides being known. */
export const agentLinkHandshakeMaxMs = 10_000

/** Options for `tls.connect`. A peer that presents a certificate instead of the key is rejected. Pure. */
export function agentLinkClient({ identity, key }: AgentLinkKey) {
  return {
    ...agentLinkOptions,
    ca: [],
    pskCallback: () => ({ psk: key, identity }),
    // Asked only where there is a certificate.
    checkServerIdentity: () => new Error('the far end showed a certificate and not the key of this start'),
  }
}

/** For `tls.createServer`; `keyOf` gives null for an identity that is not, or not any more, let in. Pure. */
export function agentLinkServer<Socket>(keyOf: (socket: Socket, identity: string) => Uint8Array | null) {
  return { ...agentLinkOptions, handshakeTimeout: agentLinkHandshakeMaxMs, pskCallback: keyOf }
}
