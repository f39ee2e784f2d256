import type { ApprovalKinds, PolicyEffect } from './approval-kind.ts'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'

/** An effect that the policy asked for and a person approved. */
export type ApprovedEffect = PolicyEffect & { readonly agentId: string }

/** The effects of approvals, for rules about them. */
export interface PolicyEffects {
  /** Returns the effect of an approval and its run; null if no rule of the policy asked for it. */
  effectOf(id: string): (PolicyEffect & { readonly agentId: string; readonly runId: string | null }) | null
  /**
   * Reads the effects of an agent, or of all for null, that people approved since a time and that were carried out;
   * each when it is needed.
   */
  approvedSince(since: number, agentId: string | null): Iterable<ApprovedEffect>
}

export function createPolicyEffects(deps: {
  readonly table: Pick<ApprovalTable, 'find' | 'doneSince'>
  readonly kinds: ApprovalKinds
}): PolicyEffects {
  const read = ({ kind, args }: ApprovalRecord): PolicyEffect | null =>
    (Object.hasOwn(deps.kinds, kind) ? deps.kinds[kind]?.policyEffect?.(args) : null) ?? null
  const agentOf = ({ requester }: ApprovalRecord) => requester.replace(/^agent:/, '')
  return {
    effectOf: (id) => {
      const row = deps.table.find(id)
      const effect = row === null ? null : read(row)
      return row === null || effect === null ? null : { ...effect, agentId: agentOf(row), runId: row.runId }
    },
    approvedSince: function* (since, agentId) {
      for (const id of deps.table.doneSince(since, agentId === null ? null : `agent:${agentId}`)) {
        const row = deps.table.find(id)
        const effect = row === null ? null : read(row)
        if (row !== null && effect !== null) yield { ...effect, agentId: agentOf(row) }
      }
    },
  }
}
