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
  /** `owner` where the mesh knows that it is the owner's own program; a session from outside tells nobody apart. */
  | { readonly kind: 'human'; readonly channel: string; readonly user?: string; readonly owner?: true }
  | { readonly kind: 'internal' }
  /** The mesh itself, at start or on a timer. */
  | { readonly kind: 'system' }

/** How the journal names a caller. */
export function actorOf(caller: Caller): string {
  if (caller.kind === 'agent') return `agent:${caller.agentId}`
  if (caller.kind === 'human') return `human:${caller.channel}`
  return caller.kind
}
