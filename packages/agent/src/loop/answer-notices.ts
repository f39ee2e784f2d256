import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { LoopDeps } from './loop-deps.ts'
import { waitsForOthers } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { isSaidInTurn, notices } from './notices.ts'
import { writtenCall } from './written-calls.ts'

/**
 * What the loop says to an answer without calls before it counts as the last one: that the task is still open, once a run,
 * or that a call written into the words calls nothing, once a turn. Null for nothing.
 */
export function noticeFor(deps: LoopDeps, state: LoopState, text: string): PromptText | null {
  if (deps.work.remindsOfTask && !state.nudged && !waitsForOthers(state)) {
    state.nudged = true
    return notices.closeTheTask
  }
  const names = new Set(deps.tools.map(({ definition }) => definition.name))
  const isWritten = writtenCall(text, names) !== null
  return isWritten && !isSaidInTurn(notices.writtenCall, state.messages) ? notices.writtenCall : null
}
