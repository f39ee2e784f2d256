import { hintOfName } from '@flotilla/protocol/nearest-name'
import { ownerName } from '@flotilla/protocol/reserved-ids'
import { ownerIdentities, peopleLimits, personTokenPrefix, tokenStateOf } from '@flotilla/protocol/people'
import type { Person, PersonRole } from '@flotilla/protocol/people'
import type { PersonView } from '@flotilla/protocol/people-api'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import { brokenProblem, digestOf } from './people-file.ts'
import type { PeopleFile } from './people-file.ts'

export interface WithToken {
  readonly person: PersonView
  /** The token, which is shown once. The file contains only its digest. */
  readonly token: string
}

type PersonChange = { readonly [Field in 'role' | 'agents' | 'identities']?: Person[Field] | undefined } & {
  readonly add_identities?: Person['identities'] | undefined
  readonly remove_identities?: Person['identities'] | undefined
}
/** The lifetime of a token in days: null for no expiry, undefined for the default of the role. */
type ExpiresDays = number | null | undefined
type NewPerson = Pick<Person, 'name' | 'role' | 'agents' | 'identities'> & {
  readonly expires_days?: ExpiresDays
}

const dayMs = 24 * 3600 * 1000

export type ManagePeople = ReturnType<typeof createManagePeople>

/**
 * Manages access to the people's API, for owners. Throws the Problems `denied`, `not-found`, `conflict` for a name or
 * identity that is in use, and `unprocessable` with the line while the file is broken.
 */
export function createManagePeople(
  { guard, journal, randomToken, clock }: Pick<Kernel, 'guard' | 'journal' | 'randomToken' | 'clock'>,
  file: Pick<PeopleFile, 'snapshot' | 'edit'>,
  /** Called with the name of a removed person. Its failures do not undo the removal. */
  left: (name: string) => Promise<void>,
) {
  function required(people: readonly Person[], name: string): Person {
    const person = people.find((one) => one.name === name)
    if (person) return person
    const hint = hintOfName(
      name,
      people.map((one) => one.name),
      'the people are',
    )
    throw new Problem('not-found', {
      detail: `there is no person ${name.slice(0, peopleLimits.nameMaxChars)}; ${hint}`,
      repair: 'List the people: flotilla people.',
    })
  }

  /** Rewrites one entry; null removes it. */
  async function rewrite(name: string, change: (person: Person) => Person | null): Promise<Person> {
    let after: Person | null = null
    await file.edit((people) => {
      const before = required(people, name)
      const changed = change(before)
      after = changed ?? before
      const others = people.filter((one) => one !== before)
      if (changed) requireFitting(others, changed)
      return changed ? people.map((one) => (one === before ? changed : one)) : others
    })
    return after ?? required([], name)
  }

  function record(caller: Caller, action: string, person: Person): void {
    const { name, role, agents, identities } = person
    journal.append({
      actor: actorOf(caller),
      action: `person.${action}`,
      subject: name,
      detail: { role, agents, identities },
    })
  }

  function freshToken(): string {
    return `${personTokenPrefix}${randomToken()}`
  }

  const viewOf = (person: Person): PersonView => personView(person, clock.now())

  function expiryOf(role: PersonRole, days: ExpiresDays): string | null {
    const held = days === undefined ? (role === 'owner' ? null : peopleLimits.tokenDays) : days
    return held === null ? null : new Date(clock.now() + held * dayMs).toISOString()
  }

  return {
    /** Returns who the caller is; for every person with access. */
    me: (caller: Caller) => {
      guard(caller, { do: 'view-fleet' })
      if (caller.kind !== 'human') throw new Problem('denied', { detail: 'only people have an entry here' })
      return { name: caller.person ?? null, role: caller.role, agents: caller.agents ?? [] }
    },
    list: (caller: Caller): readonly PersonView[] => {
      guard(caller, { do: 'manage-people' })
      const { people, broken } = file.snapshot()
      if (broken !== null) throw brokenProblem(broken)
      return people.map(viewOf)
    },
    add: async (caller: Caller, { expires_days: days, ...fields }: NewPerson): Promise<WithToken> => {
      guard(caller, { do: 'manage-people' })
      const token = freshToken()
      const person: Person = {
        ...fields,
        token_sha256: digestOf(token),
        token_expires_at: expiryOf(fields.role, days),
      }
      await file.edit((people) => {
        if (people.length >= peopleLimits.peopleMax) {
          throw new Problem('unprocessable', {
            detail: `there are ${peopleLimits.peopleMax} people, which is the limit`,
          })
        }
        refuseOwnersName(person)
        requireFitting(people, person)
        return [...people, person]
      })
      record(caller, 'added', person)
      return { person: viewOf(person), token }
    },
    change: async (caller: Caller, name: string, change: PersonChange): Promise<PersonView> => {
      guard(caller, { do: 'manage-people' })
      const person = await rewrite(name, (before) => {
        const after = {
          ...before,
          role: change.role ?? before.role,
          agents: change.agents ?? before.agents,
          identities: identitiesAfter(before.identities, change),
        }
        // A person who already had the owner's name when this rule was introduced keeps the name.
        if (after.role !== before.role) refuseOwnersName(after)
        return after
      })
      record(caller, 'changed', person)
      return viewOf(person)
    },
    rotate: async (caller: Caller, name: string, days?: ExpiresDays): Promise<WithToken> => {
      guard(caller, { do: 'manage-people' })
      const token = freshToken()
      const person = await rewrite(name, (before) => ({
        ...before,
        token_sha256: digestOf(token),
        token_expires_at: expiryOf(before.role, days),
      }))
      record(caller, 'token-rotated', person)
      return { person: viewOf(person), token }
    },
    /**
     * Moves an identity to the caller. An owner without an entry gets one. Resolves with the name. Throws Problem
     * `conflict` if another person has the identity.
     */
    adopt: async (caller: Caller, identity: Person['identities'][number]): Promise<string> => {
      guard(caller, { do: 'manage-people' })
      const named = caller.kind === 'human' ? caller.person : undefined
      let after: Person | null = null
      await file.edit((people) => {
        const before = people.find(({ name }) => name === (named ?? ownerName))
        if (before === undefined && named !== undefined) required(people, named)
        if (before && before.role !== 'owner') {
          throw new Problem('conflict', { detail: `${before.name} is not an owner; pair as an owner` })
        }
        const known = before ?? newOwner(identity)
        const person = {
          ...known,
          identities: identitiesAfter(known.identities, { add_identities: [identity] }),
        }
        after = person
        requireFitting(
          people.filter((one) => one !== before),
          person,
        )
        return before ? people.map((one) => (one === before ? person : one)) : [...people, person]
      })
      const person = after ?? newOwner(identity)
      record(caller, 'changed', person)
      return person.name
    },
    remove: async (caller: Caller, name: string): Promise<void> => {
      guard(caller, { do: 'manage-people' })
      record(caller, 'removed', await rewrite(name, () => null))
      await left(name)
    },
  }
}

function newOwner(identity: string): Person {
  return {
    name: ownerName,
    role: 'owner',
    agents: [],
    identities: [identity],
    token_sha256: null,
    token_expires_at: null,
  }
}

/** The identities after a change. Throws Problem `unprocessable` above the limit. */
function identitiesAfter(before: Person['identities'], change: PersonChange): Person['identities'] {
  const { add_identities: added = [], remove_identities: removed = [] } = change
  const kept = (change.identities ?? before).filter((one) => !removed.includes(one))
  const after = [...new Set([...kept, ...added])]
  if (after.length <= peopleLimits.identitiesPerPersonMax) return after
  throw new Problem('unprocessable', {
    detail: `a person has ${peopleLimits.identitiesPerPersonMax} identities at most`,
  })
}

/** Refuses the owner's name for other people, whose actions would look like the owner's. Throws `unprocessable`. */
function refuseOwnersName({ name, role }: Pick<Person, 'name' | 'role'>): void {
  if (name !== ownerName || role === 'owner') return
  throw new Problem('unprocessable', {
    detail: `${ownerName} is reserved for the owner of the fleet, and a ${role} is not the owner`,
    repair: 'Choose another name.',
  })
}

/** Checks the rules of the file in advance. Throws the Problems `conflict` and `unprocessable`. */
function requireFitting(others: readonly Person[], person: Person): void {
  const owners = ownerIdentities.filter((one) => person.identities.includes(one))
  if (person.role !== 'owner' && owners.length > 0) {
    throw new Problem('unprocessable', {
      detail: `${owners.join(' and ')}: only owners can have this identity, and ${person.name} is a ${person.role}`,
    })
  }
  if (others.some(({ name }) => name === person.name)) {
    throw new Problem('conflict', { detail: `there is already a person ${person.name}` })
  }
  const taken = person.identities.find((identity) =>
    others.some(({ identities }) => identities.includes(identity)),
  )
  if (taken !== undefined)
    throw new Problem('conflict', { detail: `${taken} already belongs to another person` })
}

function personView(person: Person, now: number): PersonView {
  const { name, role, agents, identities, token_expires_at } = person
  return { name, role, agents, identities, token: tokenStateOf(person, now), token_expires_at }
}
