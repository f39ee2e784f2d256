import { Problem } from '@flotilla/protocol/problem'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'

type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>

const detailMaxChars = 1000

/** Statuses that a restarting mesh, or a proxy before it, may return independently of the call. */
const passingStatuses: readonly number[] = [502, 503, 504]

/** The Problem in an error response. Null when it contains none and a retry may help. Pure. */
export function readProblem(status: number, headers: ReplyHeaders, body: string): Problem | null {
  const stated = readBody(body)
  if (stated.code === null && passingStatuses.includes(status)) return null
  const wait = Number(headers['retry-after'])
  return new Problem(stated.code ?? codeForStatus(status), {
    detail: stated.detail || `The mesh answered ${status}.`,
    extra: stated.extra,
    ...(stated.repair === '' ? {} : { repair: stated.repair }),
    ...(Number.isFinite(wait) && wait > 0 ? { retryAfterSeconds: wait } : {}),
  })
}

const framing: readonly string[] = ['error', 'message']

interface Said {
  readonly code: ProblemCode | null
  readonly detail: string
  /** The repair that the mesh states for this case; empty if it states none. */
  readonly repair: string
  readonly extra: Readonly<Record<string, unknown>>
}

const rendered: readonly string[] = ['type', 'title', 'status', 'detail', 'code', 'repair', 'request_id']

function readBody(body: string): Said {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null) {
      // The model API answers in the format and with codes of OpenAI, and adds the mesh's own code.
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
    // The body is not JSON, so the mesh did not write it; the status decides.
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
