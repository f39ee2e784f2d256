import { generateKeyPairSync, sign } from 'node:crypto'

export interface MeshKey {
  /** Raw Ed25519 key in base64url, as an agent gets it. */
  readonly publicKey: string
  /** An Authorization header for that agent; valid for a minute by default. */
  proofFor(agentId: string, expiresInSeconds?: number): string
}

/** A mesh's identity for tests. */
export function makeMeshKey(now: () => number = Date.now): MeshKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    proofFor: (agentId, expiresInSeconds = 60) => {
      const claims = { agent: agentId, exp: Math.floor(now() / 1000) + expiresInSeconds }
      const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
      return `Bearer ${payload}.${sign(null, Buffer.from(payload), privateKey).toString('base64url')}`
    },
  }
}
