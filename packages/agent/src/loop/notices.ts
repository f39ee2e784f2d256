import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { SteerMessage } from '@flotilla/protocol/steer'

/** Messages of the loop itself to the model. */
export const notices = {
  continuation: clean(
    'This conversation has used its rounds and continues with new ones. State briefly where you are, then continue from there. Change your approach if you have repeated yourself.',
  ),
  lastAnswer: clean(
    'You have used all rounds of this turn. Answer now in words with what you have; no more tool calls are possible. Say what is missing.',
  ),
  lastIteration: clean(
    'This is your last step on this task. Call complete_task now, with what you have; use status "failed" or "blocked" if it is not done.',
  ),
  waitsForResults: clean(
    'I have one step left on this task and reserve it for closing the task: I wait for the work that I handed off.',
  ),
  closeTheTask: clean(
    'The task is still open. If it is done, call complete_task with a summary and the result. If not, go on working.',
  ),
  writtenCall: clean(
    'Your last answer contains a tool call written as text. No tool was called: a call counts only if you make it as a tool call. Make the call properly now, or answer without it.',
  ),
  repeated: clean(
    'You have made the same call with the same result several times. Try a different approach; the call will be skipped if you repeat it.',
  ),
  skipped: clean(
    'Error: this call was skipped because it was repeated with the same result each time. Try a different approach.',
  ),
  unknownOutcome: clean(
    'Error (outcome-unknown): this call had started when the agent was interrupted. It may have taken effect in part or in whole, and was not repeated. Check what exists before you act on it.',
  ),
  stopped: clean(
    'Error (outcome-unknown): the run was stopped while this call was running. It may have taken effect in part or in whole. Check what exists before you act on it.',
  ),
  steer: ({ from, text }: SteerMessage): PromptText =>
    clean(`[Said by ${from} while you work on this; take it into account and go on.]\n${text}`),
  roundsUsed: 'All rounds are used. Reset a long conversation, or make the task smaller.',
  emptyAnswers: 'The model gave empty answers repeatedly.',
  filtered:
    'The model or a filter of its provider refused to answer. Change the wording of the message, or use another model.',
  cutBeforeWords:
    'The model used all output tokens of its answer before the first word; its thinking counts too. Raise the limit of output tokens, or reduce its thinking.',
} as const

/** The steer's text without the wrapping sentence; null for other messages. Pure. */
export function steeredText(content: string): string | null {
  return (
    /^\[Said by [^\n]{1,100} while you work on this; take it into account and go on\.\]\n([^]*)$/.exec(
      content,
    )?.[1] ?? null
  )
}

/** Whether the message comes from the loop itself. Pure. */
export function isNotice(content: string): boolean {
  return Object.values(notices).some((notice) => notice === content)
}

/** True if the loop sent this notice after the last message of a person or another agent. Pure. */
export function isSaidInTurn(
  notice: PromptText,
  messages: readonly { readonly role: string; readonly content: string }[],
): boolean {
  const lastRequest = messages.findLastIndex(({ role, content }) => role === 'user' && !isNotice(content))
  return messages.slice(lastRequest + 1).some(({ content }) => content === notice)
}

function clean(text: string): PromptText {
  return sanitizeForPrompt(text)
}
