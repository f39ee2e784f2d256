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

/** Like the file, it keeps nothing that could not be read again. */
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
        throw new Error('nobody is looked up here')
      },
      edit: async (change) => void ({ people } = peopleFileSchema.parse({ people: [...change(people)] })),
    },
    async () => {},
  )
  return { manage, journal, people: () => people }
}

const refused = (code: string, detail: unknown) => expect.objectContaining({ code, detail })

describe('who somebody is', () => {
  test('is told to everybody who is let in', () => {
    const { manage } = aFleet()
    expect(manage.me(owner)).toEqual({ name: null, role: 'owner', agents: [] })
    const ann: Caller = { kind: 'human', channel: 'cli', role: 'member', person: 'ann', agents: ['ada'] }
    expect(manage.me(ann)).toEqual({ name: 'ann', role: 'member', agents: ['ada'] })
  })

  test('is no question of what is no person', () => {
    const { manage } = aFleet()
    expect(() => manage.me({ kind: 'internal' })).toThrow(refused('denied', 'only people have an entry here'))
  })
})

describe('the journal', () => {
  test('has what somebody may from then on, by each change of it', async () => {
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

describe('a refusal', () => {
  test('says who is not there, in so many characters of what was asked', async () => {
    const { manage } = aFleet()
    const name = 'x'.repeat(peopleLimits.nameMaxChars)
    const detail = `there is no person ${name}; flotilla people lists all`
    await expect(manage.rotate(owner, `${name}yz`)).rejects.toEqual(refused('not-found', detail))
  })

  test('says what is taken, a name or an identity', async () => {
    const { manage } = aFleet(aPerson('ann', 'member', 'user:7'))
    await expect(manage.add(owner, aPerson('ann', 'viewer'))).rejects.toEqual(
      refused('conflict', 'there is already a person ann'),
    )
    await expect(manage.add(owner, aPerson('bob', 'viewer', 'user:8', 'user:7'))).rejects.toEqual(
      refused('conflict', 'user:7 already belongs to another person'),
    )
  })

  test('says which identities are an owner’s, who may have them', async () => {
    const { manage, people } = aFleet()
    const both = ['local', 'session']
    await expect(manage.add(owner, aPerson('bob', 'member', ...both))).rejects.toEqual(
      refused('unprocessable', 'local and session: only owners can have this identity, and bob is a member'),
    )
    await manage.add(owner, aPerson('bob', 'owner', ...both))
    expect(people().map(({ identities }) => identities)).toEqual([both])
  })

  test('comes with the name of the owner for whoever is none, and leaves one from before as they are', async () => {
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

  test('comes with the person above the most, and not before', async () => {
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

  test('comes with the identity above the most, and not before', async () => {
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

describe('an owner who is paired with a channel', () => {
  const ann = aPerson('ann', 'member', 'telegram:1')

  test('and whom the file does not name gets an entry there, once', async () => {
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

  test('is known there by their own entry, where they have one', async () => {
    const { manage, people } = aFleet(ann, aPerson('max', 'owner', 'user:7'), aPerson('owner', 'owner'))
    expect(await manage.adopt(max, 'telegram:2')).toBe('max')
    expect(people()).toEqual([
      ann,
      aPerson('max', 'owner', 'user:7', 'telegram:2'),
      aPerson('owner', 'owner'),
    ])
  })

  test('and was removed meanwhile comes back under no name', async () => {
    const { manage, people } = aFleet(ann)
    await expect(manage.adopt(max, 'telegram:2')).rejects.toMatchObject({ code: 'not-found' })
    expect(people()).toEqual([ann])
  })

  test('takes nobody’s identity, and no entry of somebody who is no owner', async () => {
    const { manage, people } = aFleet(ann, aPerson('owner', 'member'), aPerson('max', 'owner'))
    await expect(manage.adopt(max, 'telegram:1')).rejects.toEqual(
      refused('conflict', 'telegram:1 already belongs to another person'),
    )
    await expect(manage.adopt(owner, 'telegram:2')).rejects.toEqual(
      refused('conflict', 'owner is not an owner; pair as an owner'),
    )
    expect(people()).toEqual([ann, aPerson('owner', 'member'), aPerson('max', 'owner')])
  })

  test('is an owner: nobody else pairs as one', async () => {
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
