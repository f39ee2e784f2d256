import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { Problem } from '@flotilla/protocol/problem'

/** The error object that Google's clients look for, in a reply's body and in a stream's event. */
interface GoogleError {
  readonly code: number
  readonly message: string
  readonly status: string
  readonly details: readonly [
    { readonly '@type': string; readonly reason: ProblemCode; readonly domain: string },
  ]
}

/** Google's names of errors, by HTTP status. */
const nameByStatus: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
}

function googleErrorOf(problem: Problem): GoogleError {
  const { status } = problemCatalog[problem.code]
  return {
    code: status,
    message: problem.detail,
    status: nameByStatus[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'),
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: problem.code, domain: 'flotilla' },
    ],
  }
}

/** Returns the body of an error response. Pure. */
export function googleErrorBody(problem: Problem): object {
  return { error: googleErrorOf(problem) }
}

/** Returns the error as a stream event, because a stream that has begun cannot change its status. Pure. */
export function googleErrorEvent(problem: Problem): Uint8Array {
  return Buffer.from(`data: ${JSON.stringify(googleErrorBody(problem))}\n\n`)
}
