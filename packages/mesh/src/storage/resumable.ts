import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { Database } from './database.ts'

/**
 * An effect that no transaction spans, because a file or a container is part of it. What is begun is written down
 * before it is done, with enough to find it again; the rows that tell of it are written last, with the answer.
 */
export interface Resumable<Result> {
  /** What an earlier life of this very call wrote down and did not come to the end of; null where there was none. */
  readonly begun: JsonValue
  /** Stands on the disk when it returns. To be called right before the first step that would stay. */
  begin(mark: JsonValue): void
  /** Writes in one transaction what tells of the effect, and that the call is answered with what `write` returns. */
  settle(write: () => Result): Result
}

/** For whoever has no key under which the call could come again. */
export function onceOnly<Result>(database: Database): Resumable<Result> {
  return { begun: null, begin: () => {}, settle: (write) => keepingRefusals(database, write) }
}

/**
 * One transaction whose refusals are thrown after its end: whoever refused has journaled that, and a throw inside would
 * take the record back. What a transaction within it wrote before it threw is taken back all the same.
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

/** The same step for work that has its result in other words than the answer. */
export function answering<Result, Answer>(
  step: Resumable<Answer>,
  words: (result: Result) => Answer,
): Resumable<Result> {
  return {
    begun: step.begun,
    begin: (mark) => step.begin(mark),
    settle: (write) => {
      const results: Result[] = []
      step.settle(() => {
        const result = write()
        results.push(result)
        return words(result)
      })
      const [result] = results
      if (results.length === 0) throw new Error('what is settled is written first')
      return result as Result // pushed above
    },
  }
}
