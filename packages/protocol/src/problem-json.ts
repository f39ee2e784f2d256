import { problemCatalog } from './problem-catalog.ts'
import type { ProblemCode } from './problem-catalog.ts'
import type { Problem } from './problem.ts'

/** RFC 9457 body, `application/problem+json`. */
export interface ProblemJson {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ProblemCode
  readonly repair: string
  readonly request_id: string
  readonly [extra: string]: unknown
}

export const problemContentType = 'application/problem+json'

export function problemJson(problem: Problem, requestId: string): ProblemJson {
  const kind = problemCatalog[problem.code]
  return {
    ...problem.extra,
    type: `urn:flotilla:problem:${problem.code}`,
    title: kind.title,
    status: kind.status,
    detail: problem.detail,
    code: problem.code,
    repair: problem.repair,
    request_id: requestId,
  }
}
