import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { LostSubagent } from './lost-subagents.ts'

const goalMaxChars = 120

/** A message before the parent's turn ends. Pure. */
export function formatUnread(
  unread: readonly { readonly id: string; readonly goal: string; readonly isRunning: boolean }[],
): PromptText {
  const lines = unread.map(
    ({ id, goal, isRunning }) => `- ${id} (${isRunning ? 'still at work' : 'has ended'}): ${short(goal)}`,
  )
  return sanitizeForPrompt(
    `[Before you end: you have not read the results of these sub-agents.\n${lines.join('\n')}\nCall wait_for_subagent for what you need of them. If you end without it, those at work are ended and their results are lost.]`,
  )
}

/** A message to a run that continues after the agent was interrupted. Pure. */
export function formatLost(lost: readonly LostSubagent[]): PromptText {
  const lines = lost.map(({ id, goal }) => `- ${id}: ${short(goal)}`)
  return sanitizeForPrompt(
    `[The agent was cut off, and these sub-agents with it.\n${lines.join('\n')}\n${outcomeUnknown} They were not begun again.]`,
  )
}

/** For sub-agents whose parent was interrupted. */
export const outcomeUnknown =
  'Their outcome is unknown: what they did may have taken effect in part or in whole. Look at what is there before you have it done again.'

function short(goal: string): string {
  const line = goal.replaceAll(/\s+/g, ' ').trim()
  return line.length <= goalMaxChars ? line : `${line.slice(0, goalMaxChars)}…`
}
