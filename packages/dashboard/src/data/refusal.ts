import { peopleEndpoints } from '@flotilla/client/people-api'
import type { PeopleEndpointName } from '@flotilla/client/people-api'
import type { Reply } from '@flotilla/client/mesh-call'
import { isGranted, roleReaches } from '@flotilla/protocol/people'
import type { PersonRole } from '@flotilla/protocol/people'
import { roleOfRoute } from '@flotilla/protocol/people-roles'

/** The call that a button makes. */
export interface Deed {
  readonly call: PeopleEndpointName
  /** To which agent; absent where it is to none, or to one that is chosen later. */
  readonly agent?: string | undefined
  /** Where the mesh wants more of this deed than of others by the same call. */
  readonly wants?: PersonRole | undefined
}

export function roleWords(role: PersonRole): string {
  return role === 'owner' ? 'an owner' : `a ${role}`
}

/**
 * Why the caller may not do it; null where they may, as far as a page can tell. It spares a press that would be refused: who
 * may what is decided by the mesh. Nothing may be done while it is not known who the caller is. Pure.
 */
export function refusalOf(me: Reply<'me'> | undefined, { call, agent, wants }: Deed): string | null {
  if (me === undefined) return 'The mesh has not said yet what you may.'
  const { method, path } = peopleEndpoints[call]
  const wanted = wants ?? roleOfRoute(`${method} ${path}`)
  if (wanted === null || !roleReaches(me.role, wanted)) {
    return me.role === 'viewer' && wanted === 'member'
      ? 'You are here as a viewer, who looks and changes nothing.'
      : `Only owners may do this; you are here as ${roleWords(me.role)}.`
  }
  if (me.role === 'member' && agent !== undefined && !isGranted(me.agents, agent)) {
    return `${agent} is not among the agents that you are granted.`
  }
  return null
}
