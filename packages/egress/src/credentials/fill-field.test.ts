import { allowedEffects } from '../../../testing/src/allowed-effects.ts'
import { policyOf } from '../../../testing/src/policy-of.ts'
import type { CheckEffect } from '../../../identity/src/policy/index.ts'
import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { createSecret } from './secret.ts'
import { createUseCredentials } from './use-credentials.ts'
import type { Vault } from './vault.ts'

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
const value = 'a value of this test'

/** One credential, bound to these places. */
function bound(...hosts: readonly string[]) {
  return boundBy(allowedEffects, hosts)
}

function boundBy(checkEffect: CheckEffect, hosts: readonly string[]) {
  const journal = collectJournal()
  const secret = createSecret('shop', value)
  const names = { system: [], agent: ['shop'] }
  const vault = {
    names: () => names,
    agentTier: (name: string) => (name === 'shop' ? secret : undefined),
  } as unknown as Vault // The code under test reads only these fields.
  const open = createUseCredentials({
    vault,
    bindings: { bindingOf: () => ({ hosts: [...hosts] }) as never, broken: () => null },
    guard: (_caller, action) => {
      if (action.do === 'use-credential' && action.name !== 'shop') throw new Problem('denied')
    },
    decide: () => ({ allowed: true }),
    checkEffect,
    placeholderOf: () => 'a placeholder of this test',
    rate: { take: () => {} },
    journal,
  })
  return { journal, fill: (text: string, page: string) => open(scout).fillField(text, page) }
}

test('a field takes one handle alone, with the origins that it may be typed at', () => {
  const { fill, journal } = bound('shop.example', '*.pay.example', 'http://nas.lan:5000')
  expect(fill('plain words', 'https://shop.example/')).toBeNull()
  expect(fill('$CRED{shop}', 'https://shop.example/login?next=1')).toEqual({
    value,
    origins: ['https://shop.example', 'http://nas.lan:5000'],
  })
  expect(() => fill('Bearer $CRED{shop}', 'https://shop.example/')).toThrow(
    expect.objectContaining({ code: 'bad-request' }),
  )
  expect(JSON.stringify(journal)).not.toContain(value)
})

test('names below a domain are let in one by one, each as the page that it is typed on', () => {
  const { fill } = bound('*.pay.example')
  expect(fill('$CRED{shop}', 'https://a.pay.example/')?.origins).toEqual(['https://a.pay.example'])
})

test.each([
  ['another host', 'https://shop.example.evil.example/'],
  ['the same host without encryption', 'http://shop.example/'],
  ['another port', 'https://shop.example:8443/'],
  ['no page of the web', 'about:blank'],
  ['no address', ''],
])('on %s it is refused, and the journal says so', (_what, page) => {
  const { fill, journal } = bound('shop.example')
  expect(() => fill('$CRED{shop}', page)).toThrow(expect.objectContaining({ code: 'credential-refused' }))
  expect(JSON.stringify(journal)).toContain('credential.refused')
})

test('one that is not there and one that it may not use look the same', () => {
  const { fill } = bound('shop.example')
  expect(() => fill('$CRED{other}', 'https://shop.example/')).toThrow(
    expect.objectContaining({ code: 'credential-unknown' }),
  )
})

test('a key that a rule of the owner denies is not typed into a page', () => {
  const policy = 'rules:\n  - { name: no, match: { credential: shop }, verdict: deny, reason: No. }\n'
  const { fill } = boundBy(policyOf(policy), ['shop.example'])
  expect(() => fill('$CRED{shop}', 'https://shop.example/')).toThrow(
    expect.objectContaining({ code: 'policy-denied' }),
  )
  expect(fill('plain words', 'https://shop.example/')).toBeNull()
})
