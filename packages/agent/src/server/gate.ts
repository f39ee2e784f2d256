import { Problem } from '@flotilla/protocol/problem'

/** Lets the mesh in and nobody else. Resolves, or rejects with the Problem `unauthenticated`. */
export type Gate = (authorization: string | undefined) => Promise<void>

export interface GateOptions {
  readonly agentId: string
  readonly meshPublicKey: string
  readonly now: () => number
}

/** Longest life of a proof that we accept: what was signed for longer was not signed by our mesh. */
const proofLifeMaxSeconds = 600
const authorizationMaxChars = 1000

/**
 * `Authorization: Bearer <payload>.<signature>`: base64url JSON of agent and expiry, signed by the mesh. The
 * signature is checked before the payload is read; crypto loads with the first caller (5 ms).
 */
export function createGate(options: GateOptions): Gate {
  return async (authorization) => {
    const found = /^Bearer ([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(
      authorization !== undefined && authorization.length <= authorizationMaxChars ? authorization : '',
    )
    const [, payload, signature] = found ?? []
    if (payload === undefined || signature === undefined) {
      throw new Problem('unauthenticated', { detail: 'The proof of the mesh is missing or malformed.' })
    }
    const { isSignedBy } = await import('./verify-signature.ts')
    if (!isSignedBy(options.meshPublicKey, payload, signature)) {
      throw new Problem('unauthenticated', { detail: 'The proof is not signed by this mesh.' })
    }
    const claims = readClaims(payload)
    if (claims.agent !== options.agentId) {
      throw new Problem('unauthenticated', { detail: 'The proof is for another agent.' })
    }
    const leftSeconds = claims.exp - options.now() / 1000
    if (leftSeconds <= 0 || leftSeconds > proofLifeMaxSeconds) {
      throw new Problem('unauthenticated', { detail: 'The proof has expired, or lives too long.' })
    }
  }
}

function readClaims(payload: string): { agent: string; exp: number } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if (typeof claims === 'object' && claims !== null && 'agent' in claims && 'exp' in claims) {
      const { agent, exp } = claims
      if (typeof agent === 'string' && typeof exp === 'number' && Number.isFinite(exp)) return { agent, exp }
    }
  } catch {
    // Told below: what is signed and unreadable is refused like anything else.
  }
  throw new Problem('unauthenticated', { detail: 'The proof says nothing readable.' })
}
