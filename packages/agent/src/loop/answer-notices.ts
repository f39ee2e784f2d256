import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { LoopDeps } from './loop-deps.ts'
import { waitsForOthers } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { isSaidInTurn, notices } from './notices.ts'
import { writtenCall } from './written-calls.ts'

/**
 * Returns the loop's reply to an answer without calls, or null to accept the answer as the last one. Once in a run it
 * reminds of the open task; once in a turn it says that a call written as text calls nothing.
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
