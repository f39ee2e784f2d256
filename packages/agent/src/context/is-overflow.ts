import { saysTooLong } from '@flotilla/protocol/context-overflow'
import { Problem } from '@flotilla/protocol/problem'

/** Names that mesh and providers give to a prompt that is too long. */
const overflowCodes: readonly string[] = ['prompt-too-long', 'context_length_exceeded']

/** Statuses by which a provider means something else, whatever its words. */
const otherCodes: readonly string[] = ['rate-limited', 'budget-exhausted', 'denied', 'context-exhausted']

/** Pure. Whether a model refused because the prompt is too long for it. */
export function isOverflow(error: unknown): error is Problem {
  if (!(error instanceof Problem)) return false
  if (overflowCodes.includes(error.code) || error.extra['type'] === 'context_length_exceeded') return true
  return !otherCodes.includes(error.code) && saysTooLong(error.detail)
}
