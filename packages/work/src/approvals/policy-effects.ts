import type { ApprovalKinds, PolicyEffect } from './approval-kind.ts'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'

/** An effect that the policy asked for, with what became of it. */
export type DecidedEffect = PolicyEffect & { readonly agentId: string; readonly isApproved: boolean }

/** The effects of approvals, for rules about them. */
export interface PolicyEffects {
  /** Returns the effect of an approval and its run; null if no rule of the policy asked for it. */
  effectOf(id: string): (PolicyEffect & { readonly agentId: string; readonly runId: string | null }) | null
  /** Returns the effects that people approved or refused since a time. */
  decidedSince(since: number): readonly DecidedEffect[]
}

export function createPolicyEffects(deps: {
  readonly table: Pick<ApprovalTable, 'find' | 'decidedSince'>
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
    decidedSince: (since) =>
      deps.table.decidedSince(since).flatMap((row) => {
        const effect = read(row)
        return effect === null ? [] : [{ ...effect, agentId: agentOf(row), isApproved: row.state === 'done' }]
      }),
  }
}
