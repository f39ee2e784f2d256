import { createHash } from 'node:crypto'
import type { ApprovalState } from '@flotilla/protocol/agent-edit'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Origin } from '@flotilla/protocol/origin'
import { canonicalJson } from '@flotilla/foundation/journal'

/** A stored action that waits for a person's decision. Times are milliseconds since 1970. Pure. */
export interface ApprovalRecord {
  readonly id: string
  /** Names the executor; see `approval-kind.ts`. */
  readonly kind: string
  /** What the action changes, such as an agent's id. */
  readonly subject: string
  readonly summary: string
  readonly args: JsonObject
  readonly digest: string
  /** The requester in the form of the audit log, e.g. `agent:operator`. */
  readonly requester: string
  readonly origin: Origin
  readonly runId: string | null
  readonly state: ApprovalState
  readonly createdAt: number
  readonly expiresAt: number
  readonly resolvedAt: number | null
  readonly resolvedBy: string | null
  /** The outcome, as text. */
  readonly detail: string
}

/**
 * The transitions between states. `confirmed` means in progress: the approval is used up from then on, and a
 * restarted mesh finds it in this state. A confirmed action that was not carried out in time expires like an
 * unconfirmed one.
 */
export const approvalTransitions = {
  pending: ['confirmed', 'cancelled', 'expired'],
  confirmed: ['done', 'failed', 'expired'],
  done: [],
  failed: [],
  cancelled: [],
  expired: [],
} as const satisfies Record<ApprovalState, readonly ApprovalState[]>

export function canMoveApproval(from: ApprovalState, to: ApprovalState): boolean {
  return (approvalTransitions[from] as readonly ApprovalState[]).includes(to)
}

/** Returns the SHA-256 of kind and arguments: equal digests mean the very same action. */
export function approvalDigest(kind: string, args: JsonObject): string {
  return createHash('sha256').update(canonicalJson({ kind, args })).digest('hex')
}
