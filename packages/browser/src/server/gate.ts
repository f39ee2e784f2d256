import { createPublicKey, verify } from 'node:crypto'
import { browserProofSubject } from '@flotilla/protocol/browser-service-api'

/** Admits only the mesh: returns null for a valid proof, else what is wrong with the proof. */
export type Gate = (authorization: string | undefined) => string | null

export interface GateOptions {
  readonly agentId: string
  /** The raw Ed25519 key of the mesh, base64url. */
  readonly meshPublicKey: string
  readonly now: () => number
}

/** The longest accepted lifetime of a proof: the mesh never signs for longer. */
const proofLifeMaxSeconds = 600
const authorizationMaxChars = 1000

/**
 * `Authorization: Bearer <payload>.<signature>`, as agents check it: base64url JSON of the audience and the expiry,
 * signed with Ed25519. The signature is checked before the payload is parsed.
 */
export function createGate(options: GateOptions): Gate {
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: options.meshPublicKey },
    format: 'jwk',
  })
  const subject = browserProofSubject(options.agentId)
  return (authorization = '') => {
    const found = authorization.length <= authorizationMaxChars ? bearer.exec(authorization) : null
    const [, payload, signature] = found ?? []
    if (payload === undefined || signature === undefined)
      return 'The proof of the mesh is missing or malformed.'
    const bytes = Buffer.from(signature, 'base64url')
    if (bytes.length !== 64 || !verify(null, Buffer.from(payload, 'ascii'), key, bytes))
      return 'The proof is not signed by this mesh.'
    const claims = readClaims(payload)
    if (claims?.agent !== subject) return 'The proof is not for this browser.'
    const leftSeconds = claims.exp - options.now() / 1000
    return leftSeconds <= 0 || leftSeconds > proofLifeMaxSeconds
      ? 'The proof has expired, or lives too long.'
      : null
  }
}

const bearer = /^Bearer ([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/

function readClaims(payload: string): { agent: string; exp: number } | null {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if (typeof claims !== 'object' || claims === null || !('agent' in claims) || !('exp' in claims))
      return null
    const { agent, exp } = claims
    return typeof agent === 'string' && typeof exp === 'number' && Number.isFinite(exp)
      ? { agent, exp }
      : null
  } catch {
    return null
  }
}
