import { Problem } from '@flotilla/protocol/problem'

/** Ends that explain an answer without words: the caller's own bound, or the provider's filter. */
const explainedEnds: readonly unknown[] = ['length', 'content_filter']

/** Members of a choice itself that some servers use in place of its message. */
const sayingMembers = ['text', 'tool_calls', 'function_call'] as const

/**
 * Whether no choice of this answer, or of this piece of a stream, has a word, a call or a finish reason. Any member
 * but the role counts as a word, so that new members of newer models do not make an answer count as empty. Pure.
 */
export function saysNothing(answer: Readonly<Record<string, unknown>>): boolean {
  const { choices } = answer
  if (!Array.isArray(choices)) return false
  return choices.every((choice: unknown) => {
    if (!isRecord(choice)) return false
    if (explainedEnds.includes(choice['finish_reason'])) return false
    if (sayingMembers.some((name) => isFilled(choice[name]))) return false
    return [choice['delta'], choice['message']].every((one) =>
      isRecord(one) ? Object.entries(one).every(isSilent) : !isFilled(one),
    )
  })
}

export function emptyAnswer(): Problem {
  return new Problem('model-failed', { detail: 'the model returned an empty answer' })
}

function isSilent([field, value]: [string, unknown]): boolean {
  return field === 'role' || !isFilled(value)
}

function isFilled(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false
  return !Array.isArray(value) || value.length > 0
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
