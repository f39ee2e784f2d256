import type { PersonRole } from '@flotilla/protocol/people'
import type { RunTicket } from './run-ticket.ts'

/**
 * The authenticated party of a request. Only the gate of each API creates it, from a token, cookie or socket. Use
 * cases decide by it and never by a name in a request body.
 */
export type Caller =
  /**
   * `run` is the live run whose id and fence came with an agent token, or the lane's live run for a program
   * token.
   */
  | {
      readonly kind: 'agent'
      readonly agentId: string
      readonly token: 'door' | 'program'
      readonly run: RunTicket | null
    }
  | {
      readonly kind: 'human'
      readonly channel: string
      /** The user id of the person on the channel; absent if the channel has only the owner. */
      readonly user?: string
      readonly role: PersonRole
      /** The person's name in `config/people.json`; absent for an owner whom the file does not name. */
      readonly person?: string
      /** The agents that a member may act on. */
      readonly agents?: readonly string[]
      /** True for the owner's own program on this machine; an outside session does not identify a person. */
      readonly local?: true
      /** The expiry of the token that was used, in milliseconds; absent without a token or an expiry. */
      readonly expiresAt?: number
      /** For a dashboard page's request: whether it had a valid owner's proof. Absent for programs and chats. */
      readonly page?: 'proved' | 'unproved'
      /** The request contains, wholly or in part, text of another party that this person forwarded. */
      readonly forwards?: true
    }
  | { readonly kind: 'internal' }
  /** The mesh itself, at start or on a timer. */
  | { readonly kind: 'system' }

export type HumanCaller = Extract<Caller, { kind: 'human' }>

/** The name of a caller in the audit log. */
export function actorOf(caller: Caller): string {
  if (caller.kind === 'agent') return `agent:${caller.agentId}`
  if (caller.kind === 'human') {
    return caller.person === undefined
      ? `human:${caller.channel}`
      : `human:${caller.person}@${caller.channel}`
  }
  return caller.kind
}

/**
 * The owner whom the audit log names, for an approved action that a mesh did not carry out before it ended.
 * Pure.
 */
export function ownerOfActor(actor: string): HumanCaller {
  const [, person, channel = ''] = /^human:(?:([^@]*)@)?(.*)$/s.exec(actor) ?? []
  return { kind: 'human', channel, role: 'owner', ...(person === undefined ? {} : { person }) }
}
