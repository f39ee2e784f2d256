import { Problem } from '@flotilla/protocol/problem'

/** Lets the mesh in and nobody else. Resolves, or rejects with the Problem `unauthenticated`. */
export type Gate = (authorization: string | undefined, asked?: { readonly status: boolean }) => Promise<void>

export interface GateOptions {
  readonly agentId: string
  readonly meshPublicKey: string
  /** What the mesh laid for this start; nobody else knows it before a run is here. */
  readonly doorToken: string
  readonly now: () => number
}

/** Longest life of a proof that we accept: what was signed for longer was not signed by our mesh. */
const proofLifeMaxSeconds = 600
const authorizationMaxChars = 1000

/**
 * `Authorization: Bearer <payload>.<signature>`: base64url JSON of agent and expiry, signed by the mesh. The
 * signature is checked before the payload is read; crypto loads with the first such call (5 ms, a tenth of what an
 * operator's start may use). So `/status` alone also takes the door token of this start, until the first signed
 * proof has come: before it no run is here, and with it no program that could know the token.
 */
export function createGate(options: GateOptions): Gate {
  let starting = true
  return async (authorization, asked) => {
    if (starting && asked?.status === true && isSame(authorization ?? '', `Bearer ${options.doorToken}`))
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
      throw new Problem('unauthenticated', { detail: 'The proof is for another agent.' })
    }
    const leftSeconds = claims.exp - options.now() / 1000
    if (leftSeconds <= 0 || leftSeconds > proofLifeMaxSeconds) {
      throw new Problem('unauthenticated', { detail: 'The proof has expired, or lives too long.' })
    }
    starting = false
  }
}

/** Takes as long for a near miss as for a far one. */
function isSame(told: string, known: string): boolean {
  if (told.length !== known.length) return false
  let difference = 0
  for (let index = 0; index < known.length; index += 1) {
    difference |= told.charCodeAt(index) ^ known.charCodeAt(index)
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
    // Told below: what is signed and unreadable is refused like anything else.
  }
  throw new Problem('unauthenticated', { detail: 'The proof says nothing readable.' })
}
