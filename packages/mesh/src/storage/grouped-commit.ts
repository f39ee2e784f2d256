import type { Database } from './database.ts'

/**
 * Writes of many calls in one commit: a durable commit costs a fifth of a millisecond and blocks everybody, so the
 * writes that come up in one turn of the event loop share one. They run in the order they came, each seeing those
 * before it. What cannot be committed with the others is tried again by itself.
 */
export interface GroupedCommit {
  /**
   * Resolves with the result of `work` once it is committed; rejects with its error, and then none of its writes are
   * kept.
   */
  add<T>(work: () => T): Promise<T>
  /** Commits now what waits; for the end, before the database closes. */
  flush(): void
}

interface Waiting {
  readonly run: () => void
  readonly committed: () => void
  readonly failed: (error: unknown) => void
}

/** Writes of one commit: more would hold the event loop for longer than a commit costs. The rest makes the next. */
export const groupMax = 64

/** The queue is as long as the number of open calls, which are limited elsewhere. */
export function createGroupedCommit(database: Database): GroupedCommit {
  const waiting: Waiting[] = []
  let scheduled: NodeJS.Immediate | null = null

  function commitNext(): void {
    const group = waiting.splice(0, groupMax)
    if (group.length === 0) return
    let stands = false
    try {
      database.transaction(() => {
        database.afterCommit(() => {
          stands = true
        })
        for (const one of group) one.run()
      })
    } catch (error) {
      if (!stands) {
        for (const one of group) commitAlone(database, one)
        return
      }
      // A post-commit hook failed; the commit succeeded, so nothing is written a second time.
      for (const one of group) one.committed()
      throw error
    }
    for (const one of group) one.committed()
  }

  function turn(): void {
    scheduled = null
    if (waiting.length > groupMax) schedule()
    commitNext()
  }

  function schedule(): void {
    scheduled ??= setImmediate(turn)
  }

  function flush(): void {
    if (scheduled !== null) clearImmediate(scheduled)
    scheduled = null
    while (waiting.length > 0) commitNext()
  }

  return {
    flush,
    add<T>(work: () => T): Promise<T> {
      return new Promise((resolve, reject) => {
        let result: { readonly value: T } | null = null
        waiting.push({
          run: () => {
            result = { value: work() }
          },
          committed: () => {
            if (result) resolve(result.value)
          },
          failed: reject,
        })
        schedule()
      })
    },
  }
}

function commitAlone(database: Database, one: Waiting): void {
  try {
    database.transaction(one.run)
  } catch (error) {
    one.failed(error)
    return
  }
  one.committed()
}
