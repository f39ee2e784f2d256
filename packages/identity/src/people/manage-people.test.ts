import { peopleFileSchema, peopleLimits } from '@flotilla/protocol/people'
import type { Person } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import type { Caller } from '../access/index.ts'
import { authorize } from '../access/authorize.ts'
import { createManagePeople } from './manage-people.ts'

const owner: Caller = { kind: 'human', channel: 'cli', role: 'owner' }
const max: Caller = { ...owner, person: 'max' }

function aPerson(name: string, role: Person['role'], ...identities: string[]): Person {
  return { name, role, agents: [], identities, token_sha256: null, token_expires_at: null }
}

/** Stores only what the file could read again. */
function aFleet(...named: Person[]) {
  let people: readonly Person[] = named
  const journal: object[] = []
  const manage = createManagePeople(
    {
      guard: (caller, action) => {
        const decision = authorize({ broken: null, recordOf: () => undefined }, caller, action)
        if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
      },
      journal: { append: (row) => void journal.push(row) },
      randomToken: () => 'secret',
      clock: createManualClock(),
    },
    {
      snapshot: () => {
        throw new Error('this test makes no lookups')
      },
      edit: async (change) => void ({ people } = peopleFileSchema.parse({ people: [...change(people)] })),
    },
    async () => {},
  )
  return { manage, journal, people: () => people }
}

const refused = (code: string, detail: unknown) => expect.objectContaining({ code, detail })

describe("the caller's own entry", () => {
  test('every person with access can read their own entry', () => {
    const { manage } = aFleet()
    expect(manage.me(owner)).toEqual({ name: null, role: 'owner', agents: [] })
    const ann: Caller = { kind: 'human', channel: 'cli', role: 'member', person: 'ann', agents: ['ada'] }
    expect(manage.me(ann)).toEqual({ name: 'ann', role: 'member', agents: ['ada'] })
  })

  test('only people have an entry', () => {
    const { manage } = aFleet()
    expect(() => manage.me({ kind: 'internal' })).toThrow(refused('denied', 'only people have an entry here'))
  })
})

describe('the audit log of people', () => {
  test('the audit log records the new permissions of a person at each change', async () => {
    const { manage, journal } = aFleet()
    await manage.add(owner, { name: 'ann', role: 'member', agents: ['ada'], identities: ['user:7'] })
    await manage.change(owner, 'ann', { role: 'viewer' })
    await manage.rotate(owner, 'ann')
    await manage.remove(owner, 'ann')
    const row = (action: string, role: string) => ({
      actor: 'human:cli',
      action,
      subject: 'ann',
      detail: { role, agents: ['ada'], identities: ['user:7'] },
    })
    expect(journal).toEqual([
      row('person.added', 'member'),
      row('person.changed', 'viewer'),
      row('person.token-rotated', 'viewer'),
      row('person.removed', 'viewer'),
    ])
  })
})

describe('refused changes of people', () => {
  test('an unknown person is reported with a bounded part of the name', async () => {
    const { manage } = aFleet()
    const name = 'x'.repeat(peopleLimits.nameMaxChars)
    const detail = `there is no person ${name}; none exist yet`
    await expect(manage.rotate(owner, `${name}yz`)).rejects.toEqual(refused('not-found', detail))
  })

  test('a name or identity that is in use is reported', async () => {
    const { manage } = aFleet(aPerson('ann', 'member', 'user:7'))
    await expect(manage.add(owner, aPerson('ann', 'viewer'))).rejects.toEqual(
      refused('conflict', 'there is already a person ann'),
    )
    await expect(manage.add(owner, aPerson('bob', 'viewer', 'user:8', 'user:7'))).rejects.toEqual(
      refused('conflict', 'user:7 already belongs to another person'),
    )
  })

  test('an identity for owners is refused to others', async () => {
    const { manage, people } = aFleet()
    const both = ['local', 'session']
    await expect(manage.add(owner, aPerson('bob', 'member', ...both))).rejects.toEqual(
      refused('unprocessable', 'local and session: only owners can have this identity, and bob is a member'),
    )
    await manage.add(owner, aPerson('bob', 'owner', ...both))
    expect(people().map(({ identities }) => identities)).toEqual([both])
  })

  test('the name of the owner is refused to others, and an earlier entry of that name is kept', async () => {
    const { manage, people } = aFleet(aPerson('owner', 'member'))
    const isTheirs = { code: 'unprocessable', repair: expect.stringContaining('another name') }
    await expect(manage.change(owner, 'owner', { role: 'viewer' })).rejects.toMatchObject(isTheirs)
    await manage.change(owner, 'owner', { agents: ['ada'] })
    await manage.rotate(owner, 'owner')
    expect(people()).toMatchObject([{ name: 'owner', role: 'member', agents: ['ada'] }])
    await manage.change(owner, 'owner', { role: 'owner' })
    await expect(manage.change(owner, 'owner', { role: 'member' })).rejects.toMatchObject(isTheirs)
    await manage.remove(owner, 'owner')
    for (const role of ['member', 'viewer'] as const)
      await expect(manage.add(owner, aPerson('owner', role))).rejects.toMatchObject(isTheirs)
    await manage.add(owner, aPerson('owner', 'owner'))
    expect(people()).toMatchObject([{ name: 'owner', role: 'owner' }])
  })

  test('a person above the limit is refused', async () => {
    const { peopleMax } = peopleLimits
    const { manage, people } = aFleet(
      ...Array.from({ length: peopleMax - 1 }, (_, index) => aPerson(`p${index}`, 'viewer')),
    )
    await manage.add(owner, aPerson('last', 'viewer'))
    await expect(manage.add(owner, aPerson('above', 'viewer'))).rejects.toEqual(
      refused('unprocessable', `there are ${peopleMax} people, which is the limit`),
    )
    expect(people()).toHaveLength(peopleMax)
  })

  test('an identity above the limit is refused', async () => {
    const { identitiesPerPersonMax: most } = peopleLimits
    const { manage, people } = aFleet(aPerson('ann', 'viewer'))
    const identities = Array.from({ length: most }, (_, index) => `user:${index}`)
    await manage.change(owner, 'ann', { add_identities: identities })
    await expect(manage.change(owner, 'ann', { add_identities: ['user:99'] })).rejects.toEqual(
      refused('unprocessable', `a person has ${most} identities at most`),
    )
    expect(people()).toEqual([aPerson('ann', 'viewer', ...identities)])
  })
})

describe('an owner who pairs with a channel', () => {
  const ann = aPerson('ann', 'member', 'telegram:1')

  test('an owner without an entry gets one when pairing, once', async () => {
    const { manage, people, journal } = aFleet(ann)
    expect(await manage.adopt(owner, 'telegram:2')).toBe('owner')
    expect(people()).toEqual([ann, aPerson('owner', 'owner', 'telegram:2')])
    expect(await manage.adopt(owner, 'slack:T1:U2')).toBe('owner')
    expect(people()).toEqual([ann, aPerson('owner', 'owner', 'telegram:2', 'slack:T1:U2')])
    expect(journal[0]).toMatchObject({
      action: 'person.changed',
      subject: 'owner',
      detail: { role: 'owner', agents: [], identities: ['telegram:2'] },
    })
  })

  test('an owner with an entry is known by it after pairing', async () => {
    const { manage, people } = aFleet(ann, aPerson('max', 'owner', 'user:7'), aPerson('owner', 'owner'))
    expect(await manage.adopt(max, 'telegram:2')).toBe('max')
    expect(people()).toEqual([
      ann,
      aPerson('max', 'owner', 'user:7', 'telegram:2'),
      aPerson('owner', 'owner'),
    ])
  })

  test('an owner who was removed meanwhile gets no new entry', async () => {
    const { manage, people } = aFleet(ann)
    await expect(manage.adopt(max, 'telegram:2')).rejects.toMatchObject({ code: 'not-found' })
    expect(people()).toEqual([ann])
  })

  test('pairing takes no identity of another person and no entry of a person who is not an owner', async () => {
    const { manage, people } = aFleet(ann, aPerson('owner', 'member'), aPerson('max', 'owner'))
    await expect(manage.adopt(max, 'telegram:1')).rejects.toEqual(
      refused('conflict', 'telegram:1 already belongs to another person'),
    )
    await expect(manage.adopt(owner, 'telegram:2')).rejects.toEqual(
      refused('conflict', 'owner is not an owner; pair as an owner'),
    )
    expect(people()).toEqual([ann, aPerson('owner', 'member'), aPerson('max', 'owner')])
  })

  test('only an owner can pair as the owner', async () => {
    const { manage, people } = aFleet(ann)
    const others: readonly Caller[] = [
      { kind: 'human', channel: 'cli', role: 'member', person: 'ann', agents: ['*'] },
      { kind: 'internal' },
    ]
    for (const caller of others) {
      await expect(manage.adopt(caller, 'telegram:2')).rejects.toMatchObject({ code: 'denied' })
    }
    expect(people()).toEqual([ann])
  })
})
