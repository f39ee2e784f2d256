import { generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { createGate } from './gate.ts'

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const now = 1_800_000_000_000
const gate = createGate({
  agentId: 'surfer',
  meshPublicKey: publicKey.export({ format: 'jwk' }).x ?? '',
  now: () => now,
})

function proof(claims: unknown, key = privateKey): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
  return `Bearer ${payload}.${sign(null, Buffer.from(payload), key).toString('base64url')}`
}
const soon = now / 1000 + 60
const good = proof({ agent: 'browser:surfer', exp: soon })

test('the mesh is let in', () => {
  expect(gate(good)).toBeNull()
})

test.each([
  ['nothing', undefined, /missing/],
  ['a proof for the agent itself', proof({ agent: 'surfer', exp: soon }), /not for this browser/],
  ['a proof for another browser', proof({ agent: 'browser:other', exp: soon }), /not for this browser/],
  ['one that has expired', proof({ agent: 'browser:surfer', exp: now / 1000 }), /expired/],
  ['one that lives too long', proof({ agent: 'browser:surfer', exp: now / 1000 + 601 }), /too long/],
  ['words that say nothing', proof('x'), /not for this browser/],
  [
    'another key',
    proof({ agent: 'browser:surfer', exp: soon }, generateKeyPairSync('ed25519').privateKey),
    /not signed/,
  ],
  ['a changed payload', good.replace('Bearer ', 'Bearer A'), /not signed/],
  ['a header without end', `Bearer ${'a'.repeat(2000)}.b`, /malformed/],
])('%s is refused', (_, authorization, why) => {
  expect(gate(authorization)).toMatch(why)
})
