import { Problem } from '@flotilla/protocol/problem'

/** Ends that explain an answer without words: the caller's own bound, or the provider's filter. */
const explainedEnds: readonly unknown[] = ['length', 'content_filter']

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
    const messages = [choice['delta'], choice['message']].filter(isRecord)
    return !isFilled(choice['text']) && messages.every((one) => Object.entries(one).every(isSilent))
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
