import type { Database } from './database.ts'

/**
 * Writes of many calls in one commit: a durable commit takes a fifth of a millisecond and blocks all other work, so
 * the writes of one turn of the event loop share one. They run in the order of `add`, each seeing those before it.
 * Writes that cannot be committed together are tried again one by one.
 */
export interface GroupedCommit {
  /**
   * Resolves with the result of `work` once it is committed; rejects with its error, and then none of its writes are
   * kept.
   */
  add<T>(work: () => T): Promise<T>
  /** Commits the waiting writes; called at the end, before the database closes. */
  flush(): void
}

interface Waiting {
  readonly run: () => void
  readonly committed: () => void
  readonly failed: (error: unknown) => void
}

/** The maximum number of writes in one commit, so that it does not block the event loop for longer. */
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
