import { isRecord } from '../empty-answer.ts'

/**
 * Says why a response is no answer: by its event, by its status, which some servers also write into
 * `response.completed`, or because it has an error. Null for an answer. Pure.
 */
export function failureIn(event: string, response: Readonly<Record<string, unknown>>): string | null {
  const { status, error } = response
  if (status === 'cancelled' || event === 'response.cancelled') return 'the response was cancelled'
  const isFailed = status === 'failed' || event === 'response.failed' || isRecord(error)
  return isFailed ? 'the response failed' : null
}
