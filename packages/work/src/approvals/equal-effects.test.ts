import { packagesApprovalKind, sizeApprovalKind } from '@flotilla/protocol/resource-requests-api'
import { describe, expect, test } from 'vitest'
import { effectDigest } from './equal-effects.ts'

const deletion = { agent_id: 'scout', created_at: 1, reason: 'old' }
const call = {
  agent_id: 'coder',
  tool: 'harness_execute',
  subject: 's',
  input: 'a … z',
  sha256: 'f0',
  rule: 'r',
}
const payment = { agent_id: 'scout', from: '0x1', does: 'base 0x2 0x 5', key: 'a', fee: 'cheap' }

test.each([
  ['delete-agent', deletion, { ...deletion, reason: 'in the way' }],
  ['harness-call', call, { ...call, rule: 'other' }],
  ['wallet-payment', payment, { ...payment, key: 'b', fee: 'dear' }],
])('requests of the kind %s have equal effects whatever their words are', (kind, one, other) => {
  expect(effectDigest(kind, one)).toBe(effectDigest(kind, other))
  expect(effectDigest(kind, one)).toMatch(/^[0-9a-f]{64}$/)
})

test.each([
  ['delete-agent', deletion, { ...deletion, agent_id: 'other' }],
  ['delete-agent', deletion, { ...deletion, created_at: 2 }],
  ['wallet-payment', payment, { ...payment, agent_id: 'other' }],
  ['wallet-payment', payment, { ...payment, from: '0x3' }],
  ['wallet-payment', payment, { ...payment, does: 'base 0x2 0x 6' }],
  ['harness-call', call, { ...call, sha256: 'f1' }],
  // A row of an earlier release has no effect digest.
  ['wallet-payment', { ...payment, does: null }, { ...payment, does: null, key: 'b' }],
  ['another kind', { what: 'a' }, { what: 'b' }],
])('requests of the kind %s that do something else have other effects', (kind, one, other) => {
  expect(effectDigest(kind, one)).not.toBe(effectDigest(kind, other))
})

test('equal arguments of two kinds are two effects, and of a kind that is not listed they are one', () => {
  expect(effectDigest('one', { what: 'a' })).not.toBe(effectDigest('other', { what: 'a' }))
  expect(effectDigest('toString', { what: 'a', more: 1 })).toBe(
    effectDigest('toString', { more: 1, what: 'a' }),
  )
})

describe('every argument that determines an effect', () => {
  const texts = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]))
  test.each([
    ['http-request', texts('agent_id', 'method', 'url', 'headers', 'body'), { timeout_ms: 1, rule: 'r' }],
    [
      'program-request',
      texts('agent_id', 'host', 'port', 'method', 'path', 'headers', 'body_sha256'),
      { rule: 'r', run_id: 'x' },
    ],
    ['mcp-call', texts('agent_id', 'server', 'server_sha256', 'call'), { rule: 'r', once: 'x' }],
    ['harness-call', texts('agent_id', 'tool', 'subject', 'input', 'sha256'), { rule: 'r', run_id: 'x' }],
  ])('of a %s makes another effect if it differs', (kind, args, others) => {
    const digest = effectDigest(kind, args)
    expect(effectDigest(kind, { ...args, ...others })).toBe(digest)
    for (const name of Object.keys(args))
      expect(effectDigest(kind, { ...args, [name]: 'x' })).not.toBe(digest)
  })
})

describe('requests for packages and sizes', () => {
  test.each([
    ['request for packages', packagesApprovalKind, ['agent_id', 'packages', 'list_key', 'lock_sha256']],
    ['request for a size', sizeApprovalKind, ['agent_id', 'from', 'to']],
  ] as const)(
    'a %s is equal if each argument of the effect is, whatever the reason is',
    (_what, kind, names) => {
      const args = Object.fromEntries(names.map((name) => [name, name]))
      const digest = effectDigest(kind, { ...args, reason: 'one' })
      expect(effectDigest(kind, { ...args, reason: 'two' })).toBe(digest)
      for (const name of names) expect(effectDigest(kind, { ...args, [name]: 'other' })).not.toBe(digest)
    },
  )
})
