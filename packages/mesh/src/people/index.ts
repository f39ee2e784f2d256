import { randomInt } from 'node:crypto'
import { tokenStateOf } from '@flotilla/protocol/people'
import type { ChannelName, Person, PersonRole } from '@flotilla/protocol/people'
import { handActor } from '../access/index.ts'
import type { HumanCaller } from '../access/index.ts'
import type { FileEditor } from '../config/index.ts'
import type { KnownPeople } from '../http/index.ts'
import type { Kernel, MeshModule, PersonNow } from '../kernel/index.ts'
import { createManagePeople } from './manage-people.ts'
import { createOwnerProofs } from './owner-proof.ts'
import { brokenProblem, createPeopleFile } from './people-file.ts'
import type { PeopleSnapshot } from './people-file.ts'
import { peoplePeopleRoutes } from './people.routes.ts'
import { createProveOwner } from './prove-owner.ts'

export interface LinkedIdentity {
  readonly identity: string
  readonly person: string
  readonly role: PersonRole
}

export interface People extends KnownPeople {
  /** As the file has them at the moment; null for whom it does not name, and for everybody while it is broken. */
  byName(name: string): Person | null
  /**
   * Who is on the line when a channel's platform says that its user `id` speaks (for Slack `TEAM:USER`), with the role and
   * the agents that the file gives at the moment. Null for whom it does not name, and for everybody while it is broken.
   */
  channelCaller(channel: ChannelName, id: string): HumanCaller | null
  /** Makes the identity the owner's own who asks; their name. Problems `denied`, `conflict`, `unprocessable`. */
  adoptIdentity(caller: HumanCaller, identity: string): Promise<string>
  /** Names of the owners whom a channel knows. */
  ownersOn(channel: ChannelName): readonly string[]
  /** The identities of a channel that the file names, and whose they are. */
  linkedOn(channel: ChannelName): readonly LinkedIdentity[]
}

/** People beside the owner of this machine: their roles, what they are granted, how they prove who they are. */
export async function peopleModule(
  kernel: Kernel,
  { path, editor }: { readonly path: string; readonly editor: FileEditor },
): Promise<MeshModule<People>> {
  const listeners: (() => void)[] = []
  let expiredBefore = 0
  const left = async (name: string): Promise<void> => {
    try {
      await kernel.hooks.personLeft.tell(name)
    } catch (error) {
      kernel.log.error(
        { person: name, err: error },
        'a module failed when it was told that a person was removed; nothing begins in their name, and jobs are switched off at the next start',
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
  kernel.hooks.personOf.subscribe((name) => personNow(file.snapshot(), name))
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
      people: (surface) => peoplePeopleRoutes(surface, { manage, prove: createProveOwner(kernel, proofs) }),
    },
    notices: () => {
      const { broken } = file.snapshot()
      return broken === null
        ? []
        : [`Nobody but the owner of this machine is let in: ${broken}; mend it by hand.`]
    },
    // Whoever came by a token that has expired since loses what they have open.
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
 * A person as a channel lets them in. Never at a terminal and never on the own machine, so that what an owner confirms or
 * hands out there alone is not to be had from a chat platform. Pure.
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

/** What a person may now; nothing of one whom the file does not name. Problem `unprocessable` while it is broken. */
export function personNow({ people, broken }: PeopleSnapshot, name: string): readonly PersonNow[] {
  if (broken !== null) throw brokenProblem(broken)
  const person = people.find((one) => one.name === name)
  if (!person) return []
  return [{ role: person.role, ...(person.role === 'member' ? { agents: person.agents } : {}) }]
}

/** Who edits the file by hand has no other name; what was changed while the mesh was down is not told. */
function recordHand({ journal }: Kernel, now: PeopleSnapshot, before: PeopleSnapshot): void {
  const told = (action: string, subject: string, detail: Record<string, string | string[]>) =>
    journal.append({ actor: handActor, action: `person.${action}`, subject, detail })
  for (const person of now.people) {
    const { name, role, agents, identities } = person
    const earlier = before.people.find((one) => one.name === name)
    if (JSON.stringify(earlier) === JSON.stringify(person)) continue
    told(earlier ? 'changed' : 'added', name, { role, agents, identities })
  }
  for (const { name } of before.people) {
    if (!now.people.some((one) => one.name === name)) told('removed', name, {})
  }
}
