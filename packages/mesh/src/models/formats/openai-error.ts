import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { Problem, retold } from '@flotilla/protocol/problem'

/** The error object that OpenAI's clients look for, in a reply's body and in a stream's event. */
interface OpenAiError {
  readonly message: string
  readonly type: string
  /** Which parameter it is about, as OpenAI writes it; the message names it here. */
  readonly param: null
  readonly code: string
  /** How often providers were asked; a client that knows this need not retry at once. */
  readonly attempts?: number
}

/** Codes that clients of this form act on; all others are ours. */
const openAiCodes: Partial<Record<ProblemCode, string>> = {
  'prompt-too-long': 'context_length_exceeded',
  'model-unknown': 'model_not_found',
}

function openAiErrorOf(problem: Problem): OpenAiError {
  const type = problemCatalog[problem.code].status < 500 ? 'invalid_request_error' : 'server_error'
  const { attempts } = problem.extra
  return {
    message: problem.detail,
    type,
    param: null,
    code: openAiCodes[problem.code] ?? problem.code,
    ...(typeof attempts === 'number' ? { attempts } : {}),
  }
}

/** The same problem with `error` beside its own fields, so that an OpenAI client can tell what went wrong. Pure. */
export function withOpenAiError(problem: Problem): Problem {
  return retold(problem, { extra: { error: openAiErrorOf(problem) } })
}

/** A stream that has begun can only say it this way. */
export function errorEvent(problem: Problem): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify({ error: openAiErrorOf(problem) })}\n\n`)
}

/** What is not a Problem says nothing to the outside. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal-error', { cause: error })
}
