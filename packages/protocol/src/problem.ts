import { problemCatalog } from './problem-catalog.ts'
import type { ProblemCode } from './problem-catalog.ts'

export interface ProblemOptions {
  /** What is wrong in this case, for the caller. Never contains a secret or a stack trace. */
  readonly detail?: string
  readonly cause?: unknown
  /** Numbers or names the caller can act on, e.g. the budget left. */
  readonly extra?: Readonly<Record<string, unknown>>
  readonly retryAfterSeconds?: number
  /** The repair in this case, if a repair can be named that is more specific than the catalogue's. */
  readonly repair?: string
}

/** The one thrown error of the product; an API renders it as RFC 9457. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly detail: string
  readonly extra: Readonly<Record<string, unknown>>
  readonly retryAfterSeconds: number | undefined
  readonly repair: string

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(
      options.detail ?? problemCatalog[code].title,
      options.cause === undefined ? {} : { cause: options.cause },
    )
    this.name = 'Problem'
    this.code = code
    this.detail = options.detail ?? problemCatalog[code].title
    this.extra = options.extra ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
    this.repair = options.repair ?? problemCatalog[code].repair
  }
}

/** Returns the same problem with another detail or repair, or with additional fields. Pure. */
export function withChanges(
  problem: Problem,
  edit: Pick<ProblemOptions, 'detail' | 'extra' | 'repair'>,
): Problem {
  const { code, detail, cause, extra, retryAfterSeconds, repair } = problem
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  return new Problem(code, { detail, cause, repair, ...retry, ...edit, extra: { ...extra, ...edit.extra } })
}
