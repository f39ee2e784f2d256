import { describe, expect, test } from 'vitest'
import { environmentOnlyNames } from '../../../foundation/src/config/environment-only.ts'
import { credentialNameOf, isCredentialName, variableOf } from './credential-tiers.ts'

describe('the name of a variable', () => {
  test.each([
    ['FLOTILLA_SYSTEM_OPENAI_KEY', { tier: 'system', name: 'openai_key' }],
    ['FLOTILLA_CRED_GitHub', { tier: 'agent', name: 'github' }],
    ['FLOTILLA_CRED_7', { tier: 'agent', name: '7' }],
    ['FLOTILLA_CRED_system_key', { tier: 'agent', name: 'system_key' }],
    [`FLOTILLA_CRED_${'a'.repeat(128)}`, { tier: 'agent', name: 'a'.repeat(128) }],
  ])('%s says which tier may use it, and nothing else does', (variable, expected) => {
    expect(credentialNameOf(variable)).toEqual(expected)
  })

  test.each([
    'GITHUB_TOKEN',
    'FLOTILLA_CRED_',
    'FLOTILLA_SYSTEM_',
    'FLOTILLA_CRED',
    'XFLOTILLA_CRED_A',
    'flotilla_cred_a',
    'FLOTILLA_OTHER_A',
    'FLOTILLA_CRED__A',
    'FLOTILLA_CRED_A-B',
    'FLOTILLA_CRED_A B',
    `FLOTILLA_CRED_${'a'.repeat(129)}`,
  ])('%s is no credential, so that no other variable of the mesh comes near an agent', (variable) => {
    expect(credentialNameOf(variable)).toBe(null)
  })
})

describe('a name for a credential', () => {
  test.each(['a', 'GitHub_Token', '9lives', 'x'.repeat(128), 'my_flotilla_cred_x'])('%s is one', (name) => {
    expect(isCredentialName(name)).toBe(true)
  })

  test.each(['', '_a', 'a-b', 'a b', 'a\n', 'ä', 'x'.repeat(129), 'FLOTILLA_CRED_A', 'flotilla_system_a'])(
    '%j is not a credential name, or is a variable of the mesh by mistake',
    (name) => {
      expect(isCredentialName(name)).toBe(false)
    },
  )

  test.each(environmentOnlyNames)(
    '%s is not a credential in any spelling: it bypasses the vault',
    (variable) => {
      for (const name of [variable, variable.toLowerCase()]) {
        expect(isCredentialName(name)).toBe(false)
        expect(credentialNameOf(`FLOTILLA_CRED_${name}`)).toBe(null)
      }
    },
  )

  test('a name for a credential and its variable lead to each other, for each tier its own', () => {
    expect(variableOf('agent', 'github')).toBe('FLOTILLA_CRED_GITHUB')
    expect(variableOf('system', 'github')).toBe('FLOTILLA_SYSTEM_GITHUB')
    for (const tier of ['agent', 'system'] as const) {
      expect(credentialNameOf(variableOf(tier, 'github'))).toEqual({ tier, name: 'github' })
    }
    expect(() => variableOf('agent', 'a=b\nPATH')).toThrow('not a credential name')
  })
})
