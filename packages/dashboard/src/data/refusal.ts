import { peopleEndpoints } from '@flotilla/client/people-api'
import type { PeopleEndpointName } from '@flotilla/client/people-api'
import type { Reply } from '@flotilla/client/mesh-call'
import { isGranted, roleReaches } from '@flotilla/protocol/people'
import type { PersonRole } from '@flotilla/protocol/people'
import { roleOfRoute } from '@flotilla/protocol/people-roles'

/** The call that a button makes. */
export interface Deed {
  readonly call: PeopleEndpointName
  /** The agent that the call concerns; absent if it concerns none, or an agent that is chosen later. */
  readonly agent?: string | undefined
  /** The role that the mesh requires for this use of the call, if it is higher than usual. */
  readonly wants?: PersonRole | undefined
}

export function roleWords(role: PersonRole): string {
  return role === 'owner' ? 'an owner' : `a ${role}`
}

/**
 * Returns why the caller may not make the call; null if they may, as far as a page can know. Pages use it to disable
 * buttons; the mesh makes the decision. While the caller is unknown, every call is refused. Pure.
 */
export function refusalOf(me: Reply<'me'> | undefined, { call, agent, wants }: Deed): string | null {
  if (me === undefined) return 'Your permissions are still being loaded.'
  const { method, path } = peopleEndpoints[call]
  const required = wants ?? roleOfRoute(`${method} ${path}`)
  if (required === null || !roleReaches(me.role, required)) {
    return me.role === 'viewer' && required === 'member'
      ? 'You are a viewer, so you may read but not change anything.'
      : `Only owners may do this; you are ${roleWords(me.role)}.`
  }
  if (me.role === 'member' && agent !== undefined && !isGranted(me.agents, agent)) {
    return `You have no access to the agent ${agent}.`
  }
  return null
}
