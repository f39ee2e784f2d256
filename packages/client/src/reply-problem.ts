import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { Problem } from '@flotilla/protocol/problem'
import type { MeshReply } from './mesh-reply.ts'

/** How much is quoted of a reply that is no problem document, in characters. */
const quotedMaxChars = 300

/** The Problem in an error response. An unknown code is replaced by the code for the HTTP status. */
export function replyProblem(reply: MeshReply, text: string): Problem {
  const body = parseObject(text)
  const code = typeof body?.['code'] === 'string' ? body['code'] : ''
  const retryAfter = Number(reply.headers.get('retry-after') ?? Number.NaN)
  const detail = typeof body?.['detail'] === 'string' ? body['detail'] : quoted(reply, text)
  const repair = body?.['repair']
  return new Problem(isProblemCode(code) ? code : codeOfStatus(reply.status), {
    detail,
    ...(typeof repair === 'string' && repair !== '' ? { repair } : {}),
    extra: { ...body, status: reply.status },
    ...(Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {}),
  })
}

function codeOfStatus(status: number): ProblemCode {
  switch (status) {
    case 400:
      return 'bad-request'
    case 401:
      return 'unauthenticated'
    case 402:
      return 'budget-exhausted'
    case 403:
      return 'denied'
    case 404:
      return 'not-found'
    case 409:
      return 'conflict'
    case 413:
      return 'body-too-large'
    case 422:
      return 'unprocessable'
    case 429:
      return 'rate-limited'
    case 502:
      return 'upstream-failed'
    case 503:
      return 'agent-unavailable'
    case 504:
      return 'upstream-timeout'
    default:
      return status < 500 ? 'bad-request' : 'internal-error'
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function quoted(reply: MeshReply, text: string): string {
  const excerpt = text.trim().slice(0, quotedMaxChars)
  return excerpt === ''
    ? `the mesh answered ${reply.status}`
    : `the mesh answered ${reply.status}: ${excerpt}`
}
