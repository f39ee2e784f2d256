import type { Database } from '../storage/database.ts'

/**
 * Writes of many calls in one commit: a durable commit costs a fifth of a millisecond and blocks everybody, so the
 * writes that come up in one turn of the event loop share one. They run in the order they came, each seeing those
 * before it. What cannot be committed with the others is tried again by itself.
 */
export interface GroupedCommit {
  /** Resolves with what `work` returned once it is committed; rejects with what it threw, and then nothing of it stands. */
  add<T>(work: () => T): Promise<T>
  /** Commits now what waits; for the end, before the database closes. */
  flush(): void
}

interface Waiting {
  readonly run: () => void
  readonly committed: () => void
  readonly failed: (error: unknown) => void
}

/** As long as the queue are the calls that are open, and those have their own bounds. */
export function createGroupedCommit(database: Database): GroupedCommit {
  let waiting: Waiting[] = []
  let scheduled: NodeJS.Immediate | null = null

  function flush(): void {
    if (scheduled !== null) clearImmediate(scheduled)
    scheduled = null
    const group = waiting
    waiting = []
    if (group.length === 0) return
    try {
      database.transaction(() => {
        for (const one of group) one.run()
      })
    } catch {
      for (const one of group) commitAlone(database, one)
      return
    }
    for (const one of group) one.committed()
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
        scheduled ??= setImmediate(flush)
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
