import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '../../access/index.ts'
import { actorOf } from '../../access/index.ts'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'
import type { MoveApproval } from './settle-approval.ts'

/**
 * Lets it not happen. A person may from anywhere, since nothing is done by it; an agent may take back what it asked
 * for, and what others asked for looks to it as if it were not there. Problems `denied`, `not-found`, `approval-used`.
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
    if (!row || (caller.kind === 'agent' && row.askedBy !== actorOf(caller))) {
      throw new Problem('not-found', { detail: `nothing waits under ${id.slice(0, 60)}` })
    }
    const by = actorOf(caller)
    const detail = caller.kind === 'agent' ? 'Taken back by whoever asked.' : 'A person decided against it.'
    const cancelled = deps.move(row, { to: 'cancelled', by, detail })
    if (!cancelled) throw new Problem('approval-used', { detail: `${row.id} is ${row.state} already` })
    return cancelled
  }
}
