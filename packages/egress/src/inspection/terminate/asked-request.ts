import type { Readable } from 'node:stream'
import type { PolicyDecision } from '@flotilla/identity/policy'
import type { AgentCaller, Destination } from '../../egress/index.ts'

/** A request that a rule asks for, as the program sent it: with placeholders in place of credentials. */
export interface AskedRequest {
  readonly caller: AgentCaller
  readonly destination: Destination
  readonly method: string
  readonly path: string
  /** Names and values in turn, without framing. */
  readonly headers: readonly string[]
  readonly body: Readable | null
  /** The names of the credentials that are filled in. */
  readonly credentials: readonly string[]
  readonly decision: PolicyDecision
  /** Aborts when the program has disconnected. */
  readonly signal: AbortSignal
  /** Keeps the connection open without traffic; returns the function that ends this. */
  readonly keepOpen: () => () => void
}

/** An answer that a program gets to a request that a person approved. */
export interface KeptAnswer {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Names and values in turn; only an answer over HTTP/2 has them. */
  readonly trailers: readonly string[]
}

/**
 * Keeps a request for a person. Resolves to the answer if the owner holds programs open and a person approves in
 * time. Else throws the Problem `approval-required`; the request stays kept, also after the program disconnected.
 */
export type AskPerson = (asked: AskedRequest) => Promise<KeptAnswer>
