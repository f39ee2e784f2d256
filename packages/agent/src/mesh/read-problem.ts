import { Problem } from '@flotilla/protocol/problem'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'

type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

const detailMaxChars = 1000

/** Statuses that a restarting mesh, or something in front of it, may give without meaning the call. */
const passingStatuses: readonly number[] = [502, 503, 504]

/**
 * The Problem in an answer that is no success. Null when the answer holds none and another attempt may help.
 * Pure.
 */
export function readProblem(status: number, headers: ReplyHeaders, body: string): Problem | null {
  const said = readBody(body)
  if (said.code === null && passingStatuses.includes(status)) return null
  const wait = Number(headers['retry-after'])
  return new Problem(said.code ?? codeForStatus(status), {
    detail: said.detail || `The mesh answered ${status}.`,
    extra: said.extra,
    ...(said.repair === '' ? {} : { repair: said.repair }),
    ...(Number.isFinite(wait) && wait > 0 ? { retryAfterSeconds: wait } : {}),
  })
}

const framing: readonly string[] = ['error', 'message']

interface Said {
  readonly code: ProblemCode | null
  readonly detail: string
  /** What to do in the case at hand, as the mesh says it; empty where it says nothing. */
  readonly repair: string
  readonly extra: Readonly<Record<string, unknown>>
}

const rendered: readonly string[] = ['type', 'title', 'status', 'detail', 'code', 'repair', 'request_id']

function readBody(body: string): Said {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null) {
      // OpenAI clients want their own form on the model surface, and some codes of their own; ours stands beside it.
      const inner = 'error' in value && isObject(value.error) ? value.error : null
      const fields = [...Object.entries(inner ?? {}), ...Object.entries(value)]
      const read = (name: string): string => {
        const found = fields.find(([key]) => key === name)?.[1]
        return typeof found === 'string' ? found.slice(0, detailMaxChars) : ''
      }
      const code = fields.flatMap(([key, found]) =>
        key === 'code' && typeof found === 'string' && isProblemCode(found) ? [found] : [],
      )[0]
      return {
        code: code ?? null,
        detail: read('detail') || read('message'),
        repair: read('repair'),
        extra: Object.fromEntries(
          [...Object.entries(value), ...fields].filter(
            ([key]) => !rendered.includes(key) && !framing.includes(key),
          ),
        ),
      }
    }
  } catch {
    // Not one of ours; told by status.
  }
  return { code: null, detail: '', repair: '', extra: {} }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function codeForStatus(status: number): ProblemCode {
  if (status === 401) return 'unauthenticated'
  if (status === 402) return 'budget-exhausted'
  if (status === 403) return 'denied'
  if (status === 404) return 'not-found'
  if (status === 409) return 'conflict'
  if (status === 413) return 'body-too-large'
  if (status === 429) return 'rate-limited'
  return status >= 500 ? 'upstream-failed' : 'unprocessable'
}
