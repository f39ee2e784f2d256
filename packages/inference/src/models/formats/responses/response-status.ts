import { isFilledError } from '../answer/error-in-answer.ts'

/**
 * Says why a response is no answer: by its event, by its status, which some servers also write into
 * `response.completed`, or because it has an error. Null for an answer. Pure.
 */
export function failureIn(event: string, response: Readonly<Record<string, unknown>>): string | null {
  const { status, error } = response
  const named = `${event.replace(/^response\./, '')} ${typeof status === 'string' ? status : ''}`
  if (/\bcancell?ed\b/i.test(named)) return 'the response was cancelled'
  if (/\bexpired\b/i.test(named)) return 'the response expired'
  return /\bfailed\b/i.test(named) || isFilledError(error) ? 'the response failed' : null
}
