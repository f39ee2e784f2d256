import { createPublicKey, verify } from 'node:crypto'

/** Verifies an Ed25519 signature of the payload's ASCII bytes. `publicKey` is raw; both are base64url. */
export function isSignedBy(publicKey: string, payload: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.length !== 64) return false
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  return verify(null, Buffer.from(payload, 'ascii'), key, bytes)
}
