import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { Database } from './database.ts'

/**
 * An effect that no transaction covers, because a file or a container is part of it. A mark is stored before the
 * effect, with enough data to find it again; the rows about it are written last, with the answer.
 */
export interface Resumable<Result> {
  /** The mark of an earlier, unfinished attempt of the same call; null if this is the first. */
  readonly begun: JsonValue
  /** The mark is durable when this returns. Call it right before the first step that leaves something behind. */
  begin(mark: JsonValue): void
  /** Writes the rows about the effect and the answer, which is the result of `write`, in one transaction. */
  settle(write: () => Result): Result
}

/** Creates a resumable step for calls without an idempotency key. */
export function onceOnly<Result>(database: Database): Resumable<Result> {
  return { begun: null, begin: () => {}, settle: (write) => keepingRefusals(database, write) }
}

/**
 * Runs `work` in one transaction and throws its Problem after the commit: the audit log already has the refusal, and
 * a throw inside would roll that row back. Writes of a nested transaction that threw are still rolled back.
 */
export function keepingRefusals<T>(database: Database, work: () => T): T {
  const done = database.transaction((): { readonly result: T } | { readonly refusal: Problem } => {
    try {
      return { result: work() }
    } catch (error) {
      if (error instanceof Problem) return { refusal: error }
      throw error
    }
  })
  if ('refusal' in done) throw done.refusal
  return done.result
}

/** Adapts a resumable step to work whose result differs from the stored answer. */
export function answering<Result, Answer>(
  step: Resumable<Answer>,
  toAnswer: (result: Result) => Answer,
): Resumable<Result> {
  return {
    begun: step.begun,
    begin: (mark) => step.begin(mark),
    settle: (write) => {
      const results: Result[] = []
      step.settle(() => {
        const result = write()
        results.push(result)
        return toAnswer(result)
      })
      const [result] = results
      if (results.length === 0) throw new Error('what is settled is written first')
      return result as Result // pushed above
    },
  }
}
