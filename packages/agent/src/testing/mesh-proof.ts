import { generateKeyPairSync, sign } from 'node:crypto'

export interface MeshKey {
  /** Raw, base64url: what an agent gets. */
  readonly publicKey: string
  /** An Authorization header for that agent; lives a minute unless told otherwise. */
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
