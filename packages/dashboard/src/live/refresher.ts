import type { QueryClient } from '@tanstack/react-query'

/** Minimum time between an answer and the next request for it, in milliseconds. */
export const refreshEveryMs = 700
/** A request that has no answer after this time (ms) is repeated. */
export const refreshPatienceMs = 15_000

/** The name that means every cached answer. */
const everything = Symbol('everything')
type Name = string | typeof everything

/** A `waiting` request starts with its timer, an `asking` one runs; `again` repeats it because of a new event. */
interface Ask {
  readonly kind: 'waiting' | 'asking'
  again: boolean
  readonly timer: ReturnType<typeof setTimeout>
}

export interface Refresher {
  /** Marks these answers as outdated. */
  markStale(names: readonly string[]): void
  /** Marks all answers as outdated. */
  markAllStale(): void
}

/**
 * Requests outdated answers again, each by its own name. However fast events arrive, an answer is requested at most
 * once in `refreshEveryMs`, and is never older than `refreshEveryMs` plus the duration of two requests. An event
 * never aborts a running request, because a stream of events would starve a slow list; only `refreshPatienceMs`
 * without an answer does.
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
    // The answer to a running request may be older than the event, so another request follows.
    const again = !cancelRefetch && queries.isFetching({ ...filter, type: 'active' }) > 0
    const one: Ask = { kind: 'asking', again, timer: setTimeout(() => ask(name, true), refreshPatienceMs) }
    asks.set(name, one)
    const over = (): void => {
      // A newer request for the same answer has replaced this one.
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
