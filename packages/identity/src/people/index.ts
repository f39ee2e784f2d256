import { randomInt } from 'node:crypto'
import { tokenStateOf } from '@flotilla/protocol/people'
import type { ChannelName, Person, PersonRole } from '@flotilla/protocol/people'
import { handActor } from '../access/index.ts'
import type { HumanCaller } from '../access/index.ts'
import type { FileEditor } from '@flotilla/foundation/config'
import type { KnownPeople } from '../http/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import { createManagePeople } from './manage-people.ts'
import { createOwnNames } from './own-names.ts'
import { createOwnerProofs } from './owner-proof.ts'
import { brokenProblem, createPeopleFile } from './people-file.ts'
import type { PeopleSnapshot } from './people-file.ts'
import { peoplePeopleRoutes } from './people.routes.ts'
import { createProveOwner } from './prove-owner.ts'
import type { IdentityKernel, PersonNow } from '../events/index.ts'

export interface LinkedIdentity {
  readonly identity: string
  readonly person: string
  readonly role: PersonRole
}

export interface People extends KnownPeople {
  /** The person in the current file; null for unknown names, and for everyone while the file is broken. */
  byName(name: string): Person | null
  /**
   * The caller for user `id` of a channel (for Slack `TEAM:USER`), with the role and agents of the current file. Null
   * for unknown users, and for everyone while the file is broken.
   */
  channelCaller(channel: ChannelName, id: string): HumanCaller | null
  /**
   * Links the identity to the owner who calls, and resolves with their name. Throws the Problems `denied`, `conflict`
   * and `unprocessable`.
   */
  adoptIdentity(caller: HumanCaller, identity: string): Promise<string>
  /** The names of the owners with an identity on a channel. */
  ownersOn(channel: ChannelName): readonly string[]
  /** The identities of a channel in the file, with their people. */
  linkedOn(channel: ChannelName): readonly LinkedIdentity[]
}

/** People other than the owner of this machine: their roles, granted agents and proofs of identity. */
export async function peopleModule(
  kernel: IdentityKernel,
  { path, editor }: { readonly path: string; readonly editor: FileEditor },
): Promise<MeshModule<People>> {
  const listeners: (() => void)[] = []
  let expiredBefore = 0
  const names = createOwnNames(kernel.database)
  const left = async (name: string): Promise<void> => {
    try {
      await kernel.identityEvents.personLeft.publish(name)
    } catch (error) {
      kernel.log.error(
        { person: name, err: error },
        'a module failed to process the removal of a person; their jobs are disabled at the next start and none fires until then',
      )
    }
  }
  const file = await createPeopleFile({
    ...kernel,
    path,
    editor,
    onChange: (now, before, byHand) => {
      if (byHand) recordHand(kernel, now, before)
      if (byHand && now.broken === null)
        for (const { name } of before.people) if (now.byName(name) === null) void left(name)
      for (const listener of listeners) listener()
    },
  })
  const proofs = createOwnerProofs({ ...kernel, randomNumber: (below) => randomInt(below) })
  const manage = createManagePeople(kernel, file, left)
  kernel.identityEvents.personLeft.subscribe(async (name) => names.remove(name))
  kernel.identityEvents.personOf.subscribe((name) => personNow(file.snapshot(), name))
  return {
    api: {
      isProven: proofs.holds,
      broken: () => file.snapshot().broken,
      byName: (name) => file.snapshot().byName(name),
      byToken: (token) => file.snapshot().byToken(token),
      byUser: (userId) => file.snapshot().byUser(userId),
      channelCaller: (channel, id) => channelCaller(file.snapshot(), channel, id),
      adoptIdentity: manage.adopt,
      ownersOn: (channel) =>
        file
          .snapshot()
          .people.filter(({ role }) => role === 'owner')
          .filter(({ identities }) => identities.some((identity) => identity.startsWith(`${channel}:`)))
          .map(({ name }) => name),
      linkedOn: (channel) =>
        file
          .snapshot()
          .people.flatMap(({ name: person, role, identities }) =>
            identities
              .filter((identity) => identity.startsWith(`${channel}:`))
              .map((identity) => ({ identity, person, role })),
          ),
      ownerBy: (identity) =>
        file.snapshot().people.find(({ identities }) => identities.includes(identity))?.name ?? null,
      onChange: (listener) => void listeners.push(listener),
    },
    routes: {
      people: (surface) =>
        peoplePeopleRoutes(surface, { manage, prove: createProveOwner(kernel, proofs), names }),
    },
    notices: () => {
      const { broken } = file.snapshot()
      return broken === null
        ? []
        : [`Only the owner of this machine has access: ${broken}; correct the file by hand.`]
    },
    // Closes the open connections of people whose token has expired.
    maintain: () => {
      const now = kernel.clock.now()
      const expired = file
        .snapshot()
        .people.filter((person) => tokenStateOf(person, now) === 'expired').length
      if (expired !== expiredBefore) for (const listener of listeners) listener()
      expiredBefore = expired
    },
    close: file.close,
  }
}

/**
 * Returns a person as the caller on a channel: never at a terminal and never on the local machine, so that actions
 * for owners at a terminal are not available on chat platforms. Pure.
 */
export function channelCaller(
  { byIdentity }: Pick<PeopleSnapshot, 'byIdentity'>,
  channel: ChannelName,
  id: string,
): HumanCaller | null {
  const person = byIdentity(`${channel}:${id}`)
  if (!person) return null
  const { name, role, agents } = person
  return { kind: 'human', channel, user: name, role, person: name, ...(role === 'member' ? { agents } : {}) }
}

/**
 * The current permissions of a person; empty if the file does not name them. Throws Problem `unprocessable` while the
 * file is broken.
 */
export function personNow({ people, broken }: PeopleSnapshot, name: string): readonly PersonNow[] {
  if (broken !== null) throw brokenProblem(broken)
  const person = people.find((one) => one.name === name)
  if (!person) return []
  return [{ role: person.role, ...(person.role === 'member' ? { agents: person.agents } : {}) }]
}

/**
 * Records edits by hand under one actor, because their author is unknown. Edits while the mesh was down are not
 * recorded.
 */
function recordHand({ journal }: Kernel, now: PeopleSnapshot, before: PeopleSnapshot): void {
  const appendEntry = (action: string, subject: string, detail: Record<string, string | string[]>) =>
    journal.append({ actor: handActor, action: `person.${action}`, subject, detail })
  for (const person of now.people) {
    const { name, role, agents, identities } = person
    const earlier = before.people.find((one) => one.name === name)
    if (JSON.stringify(earlier) === JSON.stringify(person)) continue
    appendEntry(earlier ? 'changed' : 'added', name, { role, agents, identities })
  }
  for (const { name } of before.people) {
    if (!now.people.some((one) => one.name === name)) appendEntry('removed', name, {})
  }
}
