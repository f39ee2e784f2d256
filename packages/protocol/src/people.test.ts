import { describe, expect, test } from 'vitest'
import {
  canonicalIdentity,
  channelIdentities,
  grantSchema,
  identitySchema,
  peopleFileSchema,
  personNameSchema,
  personRoles,
  personSchema,
  roleReaches,
  tokenStateOf,
} from './people.ts'

describe('a role', () => {
  test('a role may what those before it may, and nothing of those after it', () => {
    const reached = personRoles.map((role) => personRoles.filter((wanted) => roleReaches(role, wanted)))
    expect(reached).toEqual([['viewer'], ['viewer', 'member'], ['viewer', 'member', 'owner']])
  })
})

describe('a name', () => {
  test.each(['ann', '7', 'a_b.c-d'])('a name may be %s', (name) => {
    expect(personNameSchema.safeParse(name).success).toBe(true)
  })

  // The name appears in lists, in the audit log and in commands, where shell or terminal characters would be
  // dangerous.
  test.each(['', 'Ann', '-ann', '!ann', 'ann!', 'ann\n', 'ann bob', 'a'.repeat(33)])(
    'a name is never %j',
    (name) => {
      expect(personNameSchema.safeParse(name).success).toBe(false)
    },
  )
})

describe('a grant', () => {
  test.each(['*', 'ada'])('a grant is every worker or one: %s', (grant) => {
    expect(grantSchema.safeParse(grant).success).toBe(true)
  })

  test.each(['', 'ad*', '**'])('a grant is no pattern: %j', (grant) => {
    expect(grantSchema.safeParse(grant).success).toBe(false)
  })
})

describe('an identity', () => {
  const examples = Object.values(channelIdentities).map(({ example }) => example)

  test.each(['local', 'session', 'user:0', 'user:4294967295', ...examples])(
    'an identity is %s',
    (identity) => {
      expect(identitySchema.safeParse(identity).success).toBe(true)
    },
  )

  // A text that only resembles the owner’s identity would be recorded as one, and grants nothing.
  test.each([
    'xlocal',
    'locally',
    'a session',
    'user:7x',
    'user:',
    'user:12345678901',
    'fax:123',
    'telegram',
    'telegram:',
    'telegramx:123',
    'telegram:ann',
    'telegram:0123',
    'slack:T0123ABC',
    ':123',
  ])('an identity is never %j', (identity) => {
    expect(identitySchema.safeParse(identity).success).toBe(false)
  })

  test('an invalid identity is answered with an example of each channel', () => {
    const { error } = identitySchema.safeParse('fax:123')
    expect(error?.issues[0]?.message).toContain(`of a channel: ${examples.join(', ')}`)
  })
})

describe('a person', () => {
  const least = { name: 'ann', role: 'viewer' }

  test('a person without further entries has no rights and no identities', () => {
    expect(personSchema.parse(least)).toEqual({
      ...least,
      agents: [],
      identities: [],
      token_sha256: null,
      token_expires_at: null,
    })
  })

  test.each([`x${'a'.repeat(64)}`, 'a'.repeat(65), 'a'.repeat(63), 'A'.repeat(64)])(
    'a person has no token with the digest %s, which no token has',
    (digest) => {
      expect(personSchema.safeParse({ ...least, token_sha256: digest }).success).toBe(false)
      expect(personSchema.safeParse({ ...least, token_sha256: 'a'.repeat(64) }).success).toBe(true)
    },
  )
})

describe('a token', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  const state = (token_sha256: string | null, token_expires_at: string | null) =>
    tokenStateOf({ token_sha256, token_expires_at }, now)

  test('a token holds until its time, and for ever where it has none', () => {
    const digest = 'a'.repeat(64)
    expect(state(digest, null)).toBe('valid')
    expect(state(digest, '2026-01-02T00:00:01Z')).toBe('valid')
    expect(state(digest, '2026-01-02T00:00:00Z')).toBe('expired')
  })

  test('a token that was never issued is invalid, whatever entries are next to it', () => {
    expect(state(null, null)).toBe('none')
    expect(state(null, '2026-01-01T00:00:00Z')).toBe('none')
  })
})

describe('the file', () => {
  const issuesOf = (...people: object[]) =>
    (peopleFileSchema.safeParse({ people }).error?.issues ?? []).map(({ path, message }) => ({
      path,
      message,
    }))
  const vic = { name: 'vic', role: 'viewer' }

  test('the file rejects one token for two people', () => {
    const digest = 'a'.repeat(64)
    expect(
      issuesOf({ ...vic, token_sha256: digest }, { name: 'bob', role: 'owner', token_sha256: digest }),
    ).toEqual([{ path: ['people', 1], message: `two people have the token with the digest ${digest}` }])
    expect(issuesOf(vic, { name: 'bob', role: 'owner' })).toEqual([])
  })

  test('the file names the person that has the identity of an owner without the role', () => {
    expect(issuesOf(vic, { name: 'bob', role: 'member', identities: ['local'] })).toEqual([
      { path: ['people', 1], message: 'local and session are identities of owners alone' },
    ])
    expect(issuesOf(vic, { name: 'bob', role: 'owner', identities: ['local', 'session'] })).toEqual([])
  })
})

test.each([
  ['whatsapp:5511987654321', 'whatsapp:551187654321'],
  ['whatsapp:551187654321', 'whatsapp:551187654321'],
  // A mobile number of São Paulo that never existed without its 9, and a landline number.
  ['whatsapp:5511945678901', 'whatsapp:5511945678901'],
  ['whatsapp:551145678901', 'whatsapp:551145678901'],
  ['whatsapp:5215512345678', 'whatsapp:525512345678'],
  ['whatsapp:525512345678', 'whatsapp:525512345678'],
  ['whatsapp:5491112345678', 'whatsapp:5491112345678'],
  ['whatsapp:541112345678', 'whatsapp:541112345678'],
  ['telegram:5511987654321', 'telegram:5511987654321'],
])('%s is compared as %s', (identity, canonical) => {
  expect(canonicalIdentity(identity)).toBe(canonical)
})
