import type { PersonRole } from '@flotilla/protocol/people'
import type { RunTicket } from './run-ticket.ts'

/**
 * Who is on the line. Built by a zone's gate from token, cookie or socket and from nothing else; use cases
 * decide by it and never by a name in a body.
 */
export type Caller =
  /** `run` is the live run whose id and fence came with a door token, or the lane's live run for a program token. */
  | {
      readonly kind: 'agent'
      readonly agentId: string
      readonly token: 'door' | 'program'
      readonly run: RunTicket | null
    }
  | {
      readonly kind: 'human'
      readonly channel: string
      /** The person behind it as the channel tells them apart; none where there is the owner alone. */
      readonly user?: string
      readonly role: PersonRole
      /** Their name in `config/people.json`; none for an owner whom it does not name. */
      readonly person?: string
      /** What a member may act on. */
      readonly agents?: readonly string[]
      /** The mesh knows that it is the owner's own program on its machine; a session from outside tells nobody apart. */
      readonly local?: true
      /** When the token ends that they came by, in milliseconds; none where it does not, or they came without. */
      readonly expiresAt?: number
      /** A browser sent it for a page; whether that brought the owner's proof. None for programs and chats. */
      readonly page?: 'proved' | 'unproved'
      /** What they ask for is, wholly or in part, what somebody else wrote and they passed on. */
      readonly forwards?: true
    }
  | { readonly kind: 'internal' }
  /** The mesh itself, at start or on a timer. */
  | { readonly kind: 'system' }

export type HumanCaller = Extract<Caller, { kind: 'human' }>

/** How the journal names a caller. */
export function actorOf(caller: Caller): string {
  if (caller.kind === 'agent') return `agent:${caller.agentId}`
  if (caller.kind === 'human') {
    return caller.person === undefined
      ? `human:${caller.channel}`
      : `human:${caller.person}@${caller.channel}`
  }
  return caller.kind
}

/** The owner whom the journal named so, for what they decided and a mesh that died did not carry out. Pure. */
export function ownerOfActor(actor: string): HumanCaller {
  const [, person, channel = ''] = /^human:(?:([^@]*)@)?(.*)$/s.exec(actor) ?? []
  return { kind: 'human', channel, role: 'owner', ...(person === undefined ? {} : { person }) }
}
