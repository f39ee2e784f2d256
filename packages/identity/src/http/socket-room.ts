import type { PersonRole } from '@flotilla/protocol/people'
import type { Caller } from '../access/index.ts'

/** A client that reads events over a socket. */
export interface SocketReader {
  /** Null for the owner of this mesh, who has no entry in the file of people. */
  readonly person: string | null
  readonly role: PersonRole
}

/** The reader of a caller. A caller that is not a person counts as a viewer. Pure. */
export function readerOf(caller: Caller): SocketReader {
  if (caller.kind !== 'human') return { person: caller.kind, role: 'viewer' }
  return { person: caller.person ?? (caller.role === 'owner' ? null : 'somebody'), role: caller.role }
}

/**
 * Limits of sockets that are open at once. The places above the limits of other people are reserved for
 * owners.
 */
export const socketLimits = {
  perPersonMax: 16,
  perOwnerMax: 32,
  noOwnersMax: 96,
  namedMax: 128,
} as const

/**
 * Returns the reason why `by` cannot open another socket, or null if `by` can. Only the owner of this mesh can use
 * the owner's places. Pure.
 */
export function socketObstacle(open: readonly SocketReader[], by: SocketReader): string | null {
  const { perPersonMax, perOwnerMax, noOwnersMax, namedMax } = socketLimits
  const own = open.filter(({ person }) => person === by.person).length
  const ownMax = by.role === 'owner' ? perOwnerMax : perPersonMax
  if (own >= ownMax)
    return `${by.person ?? 'the owner'} has ${ownMax} open event connections, the maximum for one ${by.role}`
  if (by.person === null) return null
  if (by.role !== 'owner' && open.filter(({ role }) => role !== 'owner').length >= noOwnersMax)
    return `people who are not owners have ${noOwnersMax} open event connections, the maximum for all of them`
  if (open.filter(({ person }) => person !== null).length >= namedMax)
    return `${namedMax} event connections are open, the maximum for all people`
  return null
}
