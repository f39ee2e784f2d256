import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { asSentence } from './format.ts'

/**
 * Throws an error with the reason if the action of a confirmed approval was not carried out: the mesh answers a
 * confirmation also when the action then failed or came too late. An action in the state `confirmed` is being carried
 * out. Pure.
 */
export function requireCarriedOut(approval: Pick<ApprovalView, 'state' | 'detail'>): void {
  const { state, detail } = approval
  if (state === 'done' || state === 'confirmed') return
  if (detail !== '') throw new Error(asSentence(detail))
  throw new Error(`The action was not carried out: the approval is ${state}.`)
}

/** What a page says after a confirmation. Pure. */
export function confirmedWords({ state }: Pick<ApprovalView, 'state'>): string {
  return state === 'confirmed'
    ? 'The action is being carried out. It can take minutes; Approvals shows how it ends.'
    : 'The action was carried out.'
}
