import { Problem } from '@flotilla/protocol/problem'

/** Admits only the mesh: resolves for a valid proof, else rejects with the Problem `unauthenticated`. */
export type Gate = (
  authorization: string | undefined,
  request?: { readonly status: boolean },
) => Promise<void>

export interface GateOptions {
  readonly agentId: string
  readonly meshPublicKey: string
  /** The agent token that the mesh wrote for this start; no other party knows it before the first run. */
  readonly doorToken: string
  readonly now: () => number
}

/** Longest accepted lifetime of a proof: a longer one was not signed by our mesh. */
const proofLifeMaxSeconds = 600
const authorizationMaxChars = 1000

/**
 * `Authorization: Bearer <payload>.<signature>`: base64url JSON of agent and expiry, signed by the mesh. The
 * signature is checked before the payload is read. Crypto is loaded with the first such call (5 ms, a tenth
 * of an operator's start budget). So `/status` alone also accepts the agent token of this start, until the
 * first signed proof has come: before it there is no run, and so no program that could know the token.
 */
export function createGate(options: GateOptions): Gate {
  let starting = true
  return async (authorization, request) => {
    if (starting && request?.status === true && isSame(authorization ?? '', `Bearer ${options.doorToken}`))
      return
    const found = /^Bearer ([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(
      authorization !== undefined && authorization.length <= authorizationMaxChars ? authorization : '',
    )
    const [, payload, signature] = found ?? []
    if (payload === undefined || signature === undefined) {
      throw new Problem('unauthenticated', { detail: 'The proof of the mesh is missing or malformed.' })
    }
    const { isSignedBy } = await import('./is-signed-by.ts')
    if (!isSignedBy(options.meshPublicKey, payload, signature)) {
      throw new Problem('unauthenticated', { detail: 'The proof is not signed by this mesh.' })
    }
    const claims = readClaims(payload)
    if (claims.agent !== options.agentId) {
      throw new Problem('unauthenticated', { detail: 'The proof of the mesh is for another agent.' })
    }
    const leftSeconds = claims.exp - options.now() / 1000
    if (leftSeconds <= 0 || leftSeconds > proofLifeMaxSeconds) {
      throw new Problem('unauthenticated', {
        detail: 'The proof of the mesh has expired, or is valid for too long.',
      })
    }
    starting = false
  }
}

/** Compares in constant time. */
function isSame(given: string, known: string): boolean {
  if (given.length !== known.length) return false
  let difference = 0
  for (let index = 0; index < known.length; index += 1) {
    difference |= given.charCodeAt(index) ^ known.charCodeAt(index)
  }
  return difference === 0
}

function readClaims(payload: string): { agent: string; exp: number } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if (typeof claims === 'object' && claims !== null && 'agent' in claims && 'exp' in claims) {
      const { agent, exp } = claims
      if (typeof agent === 'string' && typeof exp === 'number' && Number.isFinite(exp)) return { agent, exp }
    }
  } catch {
    // The proof is signed, but its payload is unreadable: it is rejected below like any other.
  }
  throw new Problem('unauthenticated', { detail: 'The proof of the mesh is not readable.' })
}
