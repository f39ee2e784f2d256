import type { QueryClient } from '@tanstack/react-query'

/** An answer of the mesh is asked for again so long after it was last given, and not sooner. */
export const refreshEveryMs = 700
/** A request without an answer for this time is repeated. */
export const refreshPatienceMs = 15_000

/** All answers that the page holds, whatever their name. */
const everything = Symbol('everything')
type Name = string | typeof everything

/** `timer` while it waits for its moment, `asking` while the mesh is asked; `again` where it grew old meanwhile. */
interface Ask {
  readonly kind: 'waiting' | 'asking'
  again: boolean
  readonly timer: ReturnType<typeof setTimeout>
}

export interface Refresher {
  /** These answers are old by now. */
  markStale(names: readonly string[]): void
  /** Any answer may be old. */
  markAllStale(): void
}

/**
 * Asks again for answers that events made old, each by its own name. However fast events come: an answer is asked for at
 * most once in `refreshEveryMs`, and it is never older than `refreshEveryMs` and the time that two answers take, because
 * what is being fetched is never broken off by the next event (a stream of them would starve a slow list) but by
 * `refreshPatienceMs` of silence alone.
 */
export function createRefresher(queries: Pick<QueryClient, 'invalidateQueries' | 'isFetching'>): Refresher {
  const asks = new Map<Name, Ask>()

  function mark(name: Name): void {
    const known = asks.get(name)
    if (known) {
      if (known.kind === 'asking') known.again = true
      return
    }
    asks.set(name, { kind: 'waiting', again: false, timer: setTimeout(() => ask(name), refreshEveryMs) })
  }

  function ask(name: Name, cancelRefetch = false): void {
    const filter = typeof name === 'string' ? { queryKey: [name] } : {}
    // What is fetched already may have been answered before the event, and does not count.
    const again = !cancelRefetch && queries.isFetching({ ...filter, type: 'active' }) > 0
    const one: Ask = { kind: 'asking', again, timer: setTimeout(() => ask(name, true), refreshPatienceMs) }
    asks.set(name, one)
    const over = (): void => {
      // One that was asked anew meanwhile ends by its later asking.
      if (asks.get(name) !== one) return
      clearTimeout(one.timer)
      asks.delete(name)
      if (one.again) mark(name)
    }
    void queries.invalidateQueries(filter, { cancelRefetch }).then(over, over)
  }

  return {
    markStale: (names) => {
      for (const name of names) mark(name)
    },
    markAllStale: () => mark(everything),
  }
}
