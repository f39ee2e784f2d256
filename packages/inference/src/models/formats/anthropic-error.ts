import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { Problem } from '@flotilla/protocol/problem'

/** The error object that Anthropic's clients look for, in a reply's body and in a stream's event. */
interface AnthropicError {
  readonly type: string
  readonly message: string
  /** The stable code of the error; clients read it from this member. */
  readonly details: { readonly error_code: ProblemCode }
}

const typeByStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function anthropicErrorOf(problem: Problem): AnthropicError {
  const { status } = problemCatalog[problem.code]
  const type = typeByStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type, message: problem.detail, details: { error_code: problem.code } }
}

/**
 * Returns the body of an error response. The official client prints `message` if there is one, and otherwise the
 * whole body, which is not a readable sentence. Pure.
 */
export function anthropicErrorBody(problem: Problem, requestId: string): object {
  return {
    type: 'error',
    error: anthropicErrorOf(problem),
    message: problem.detail,
    request_id: requestId,
  }
}

/** Returns the error as a stream event, because a stream that has begun cannot change its status. */
export function anthropicErrorEvent(problem: Problem): Uint8Array {
  const data = JSON.stringify({ type: 'error', error: anthropicErrorOf(problem) })
  return new TextEncoder().encode(`event: error\ndata: ${data}\n\n`)
}
