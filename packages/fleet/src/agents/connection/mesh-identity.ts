import { createPrivateKey, createPublicKey, hkdfSync, sign } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'

/** How long a token for one call is valid, seconds. */
const tokenLifeSeconds = 300

/** DER prefix for the 32 bytes of an Ed25519 seed in PKCS #8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Authenticates the mesh to agents. Agents have only a public key, so no program in a container can forge a call. */
export interface MeshIdentity {
  /** The raw 32 bytes of the Ed25519 public key. */
  readonly publicKeyBase64url: string
  /**
   * Returns `<payload>.<signature>`: payload is base64url of `{"agent": id, "exp": unix seconds}`, five minutes
   * ahead; the signature is Ed25519 over the payload's ASCII. Only that agent accepts the token.
   */
  signFor(agentId: string): string
  /** Derives the 256-bit key of the connection to one start of an agent on another machine; never stored. */
  linkKeyOf(agentId: string, startId: string): Buffer
}

/** The same secret gives the same key pair, so that adopted containers recognize the mesh after its restart. */
export function createMeshIdentity(deps: { readonly secret: string; readonly clock: Clock }): MeshIdentity {
  const seed = hkdfSync('sha256', deps.secret, 'flotilla', 'mesh identity, Ed25519, version 1', 32)
  const privateKey = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, Buffer.from(seed)]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(privateKey).export({ format: 'jwk' }).x
  if (publicKey === undefined) throw new Error('an Ed25519 key has a public part')
  return {
    publicKeyBase64url: publicKey,
    linkKeyOf: (agentId, startId) =>
      Buffer.from(
        hkdfSync('sha256', deps.secret, 'flotilla', `agent link, version 1: ${agentId} ${startId}`, 32),
      ),
    signFor: (agentId) => {
      const exp = Math.floor(deps.clock.now() / 1000) + tokenLifeSeconds
      const payload = Buffer.from(JSON.stringify({ agent: agentId, exp })).toString('base64url')
      const signature = sign(null, Buffer.from(payload, 'ascii'), privateKey)
      return `${payload}.${signature.toString('base64url')}`
    },
  }
}
