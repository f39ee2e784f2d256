import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { useMesh, useRefusal } from './use-mesh.ts'

/** The maximum number of open approvals that are requested. */
const shownMax = 200

export interface OpenApprovals {
  /** The approvals that wait for a person. */
  readonly asked: readonly ApprovalView[]
  /** The ids of the approvals that a person confirmed, and whose action has not ended. */
  readonly carriedOut: ReadonlySet<string>
}

/** Returns the approvals that have not ended; none for a person who may not decide them. */
export function useOpenApprovals(): OpenApprovals {
  const mayDecide = useRefusal({ call: 'pending' }) === null
  const { data } = useMesh('pending', { query: { state: 'open', limit: shownMax } }, { enabled: mayDecide })
  return openApprovals(data?.pending ?? [])
}

/** Pure. */
export function openApprovals(open: readonly ApprovalView[]): OpenApprovals {
  return {
    asked: open.filter(({ state }) => state === 'pending'),
    carriedOut: new Set(open.filter(({ state }) => state === 'confirmed').map(({ id }) => id)),
  }
}
