import { createPublicKey, verify } from 'node:crypto'

/** Ed25519 over the payload's ASCII bytes. `publicKey` is raw, base64url; `signature` is base64url. */
export function isSignedBy(publicKey: string, payload: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.length !== 64) return false
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  return verify(null, Buffer.from(payload, 'ascii'), key, bytes)
}
