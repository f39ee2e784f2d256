import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { Problem, withChanges } from '@flotilla/protocol/problem'

/** The error object that OpenAI's clients look for, in a reply's body and in a stream's event. */
interface OpenAiError {
  readonly message: string
  readonly type: string
  /** OpenAI names the invalid parameter in this member; the mesh names it only in the message. */
  readonly param: null
  readonly code: string
  /** The number of attempts that the mesh made, so that a client need not retry at once. */
  readonly attempts?: number
}

/** Codes of OpenAI that clients act on; all other problems keep the mesh's code. */
const openAiCodes: Partial<Record<ProblemCode, string>> = {
  'prompt-too-long': 'context_length_exceeded',
  'model-unknown': 'model_not_found',
}

/** Returns the error object of a problem, in OpenAI’s form. Pure. */
export function openAiErrorOf(problem: Problem): OpenAiError {
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

/** Adds OpenAI's `error` beside the fields of a problem, so that an OpenAI client can read it. Pure. */
export function withOpenAiError(problem: Problem): Problem {
  return withChanges(problem, { extra: { error: openAiErrorOf(problem) } })
}

/** Returns the error as a stream event, because a stream that has begun cannot change its status. */
export function errorEvent(problem: Problem): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify({ error: openAiErrorOf(problem) })}\n\n`)
}

/** Hides the details of any error that is not a Problem. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal-error', { cause: error })
}
