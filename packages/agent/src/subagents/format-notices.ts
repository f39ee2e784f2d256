import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { LostSubagent } from './lost-subagents.ts'

const goalMaxChars = 120

/** A message before the parent's turn ends. Pure. */
export function formatUnread(
  unread: readonly { readonly id: string; readonly goal: string; readonly isRunning: boolean }[],
): PromptText {
  const lines = unread.map(
    ({ id, goal, isRunning }) => `- ${id} (${isRunning ? 'still running' : 'ended'}): ${short(goal)}`,
  )
  return sanitizeForPrompt(
    `[Before you end: you have not read the results of these sub-agents.\n${lines.join('\n')}\nCall wait_for_subagent for the results that you need. If you end your turn without it, running sub-agents are terminated and all unread results are lost.]`,
  )
}

/** A message to a run that continues after the agent was interrupted. Pure. */
export function formatLost(lost: readonly LostSubagent[]): PromptText {
  const lines = lost.map(({ id, goal }) => `- ${id}: ${short(goal)}`)
  return sanitizeForPrompt(
    `[The agent was interrupted, and these sub-agents ended with it.\n${lines.join('\n')}\n${outcomeUnknown} They were not restarted.]`,
  )
}

/** For sub-agents whose parent was interrupted. */
export const outcomeUnknown =
  'Their outcome is unknown: their work may have taken effect in part or in whole. Check what exists before you repeat it.'

function short(goal: string): string {
  const line = goal.replaceAll(/\s+/g, ' ').trim()
  return line.length <= goalMaxChars ? line : `${line.slice(0, goalMaxChars)}…`
}
