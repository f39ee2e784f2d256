import { createPublicKey, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { createMeshIdentity } from './mesh-identity.ts'

const clock = { now: () => 1_700_000_000_900, sleep: async () => {} }

const keyOf = (secret: string) => createMeshIdentity({ secret, clock }).publicKeyBase64url

function isSignedBy(publicKey: string, token: string): boolean {
  const [payload = '', signature = ''] = token.split('.')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  return verify(null, Buffer.from(payload, 'ascii'), key, Buffer.from(signature, 'base64url'))
}

test('the token names the agent and ends in five minutes', () => {
  const [payload = ''] = createMeshIdentity({ secret: 's', clock }).signFor('a_b').split('.')
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
  expect(claims).toEqual({ agent: 'a_b', exp: 1_700_000_300 })
})

test('the public key of 32 bytes proves the token', () => {
  const identity = createMeshIdentity({ secret: 's', clock })
  expect(Buffer.from(identity.publicKeyBase64url, 'base64url')).toHaveLength(32)
  expect(isSignedBy(identity.publicKeyBase64url, identity.signFor('a'))).toBe(true)
})

test('the same secret gives the same key, another secret another', () => {
  expect(keyOf('s')).toBe(keyOf('s'))
  expect(keyOf('s')).not.toBe(keyOf('t'))
})

test('a mesh with another secret proves nothing', () => {
  const ours = createMeshIdentity({ secret: 's', clock })
  const theirs = createMeshIdentity({ secret: 't', clock })
  expect(isSignedBy(ours.publicKeyBase64url, theirs.signFor('a'))).toBe(false)
})

test('a changed payload loses its proof', () => {
  const identity = createMeshIdentity({ secret: 's', clock })
  const [payload = '', signature = ''] = identity.signFor('a').split('.')
  const forged = Buffer.from(payload, 'base64url').toString().replace('"a"', '"b"')
  const token = `${Buffer.from(forged).toString('base64url')}.${signature}`
  expect(isSignedBy(identity.publicKeyBase64url, token)).toBe(false)
})
