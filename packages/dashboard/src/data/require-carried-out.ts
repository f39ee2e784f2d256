import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { asSentence } from './format.ts'

/**
 * Returns a confirmed approval whose action was carried out. The mesh answers a confirmation also when the action then
 * failed or came too late. Throws an error with the reason. Pure.
 */
export function requireCarriedOut(approval: Pick<ApprovalView, 'state' | 'detail'>): void {
  const { state, detail } = approval
  if (state === 'done') return
  if (detail !== '') throw new Error(asSentence(detail))
  throw new Error(
    state === 'confirmed'
      ? 'The action is confirmed, and its result is not known yet.'
      : `The action was not carried out: the approval is ${state}.`,
  )
}
