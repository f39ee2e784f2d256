import { notFound } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'
import type { MoveApproval } from './settle-approval.ts'

/**
 * Cancels an approval. A person may do so from any channel, because nothing is carried out. An agent may withdraw
 * only its own requests; it gets `not-found` for others. Problems `denied`, `not-found`, `approval-used`.
 */
export type CancelApproval = (caller: Caller, id: string) => ApprovalRecord

export function createCancelApproval(deps: {
  readonly table: ApprovalTable
  readonly guard: Guard
  readonly move: MoveApproval
}): CancelApproval {
  return (caller, id) => {
    deps.guard(caller, { do: 'manage-fleet' })
    const row = deps.table.find(id)
    if (!row || (caller.kind === 'agent' && row.requester !== actorOf(caller))) {
      throw notFound('approval', `no approval has the id ${id.slice(0, 60)}`)
    }
    const by = actorOf(caller)
    const detail =
      caller.kind === 'agent'
        ? 'The agent that requested the action withdrew the request.'
        : 'A person rejected the action.'
    const cancelled = deps.move(row, { to: 'cancelled', by, detail })
    if (!cancelled)
      throw new Problem('approval-used', { detail: `the approval ${row.id} is already ${row.state}` })
    return cancelled
  }
}
