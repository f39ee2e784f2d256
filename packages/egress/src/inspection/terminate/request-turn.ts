import type { PolicyDecision } from '@flotilla/identity/policy'
import type { Destination, InspectedConnection } from '../../egress/index.ts'
import type { AnswerFilter } from './forward-inspected.ts'

/** What is decided and changed for one request of an agent's program to an inspected host. */
export interface RequestTurn {
  /**
   * Decides by the headers as well, and changes them, such as placeholders into values. `asked` if a person must
   * approve the request first. Throws a problem to refuse the request.
   */
  fill(headers: readonly string[]): { readonly headers: readonly string[] } | { readonly asked: AskedTurn }
  /** Like `fill`, for a request that opens a WebSocket, which a rule must allow and which cannot wait for a person. */
  fillWebSocket(headers: readonly string[]): readonly string[]
  /**
   * Like `fill`, for a request that a person has approved together with these credentials. Problem `approval-changed` if
   * others would be filled in.
   */
  fillApproved(headers: readonly string[], credentials: readonly string[]): readonly string[]
  readonly answer: AnswerFilter
  /** Called once, with the status of the answer or the code of the problem. */
  settled(result: { readonly status: number } | { readonly problem: string }): void
}

/** Why a person must approve a request, and the names of the credentials that it contains. */
export interface AskedTurn {
  readonly decision: PolicyDecision
  readonly credentials: readonly string[]
}

/**
 * Decides about one request before anything of it leaves. Throws a problem to refuse the request, which the program
 * receives as the answer.
 */
export type TakeTurn = (
  connection: {
    readonly identity: Pick<InspectedConnection['identity'], 'caller'>
    readonly destination: Destination
  },
  request: { readonly method: string; readonly path: string },
) => RequestTurn | Promise<RequestTurn>
