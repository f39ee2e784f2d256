import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRefresher, refreshEveryMs, refreshPatienceMs } from './refresher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A list that a page shows. Each answer takes as long as given, and its value is the time of its request. */
function aList(answersAfterMs: (asking: number) => number) {
  const queries = new QueryClient()
  const askedAt: number[] = []
  let brokenOff = 0
  const observer = new QueryObserver<number>(queries, {
    queryKey: ['runs', null],
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
    queryFn: ({ signal }) => {
      const at = Date.now()
      askedAt.push(at)
      signal.addEventListener('abort', () => (brokenOff += 1))
      return new Promise((resolve) => setTimeout(() => resolve(at), answersAfterMs(askedAt.length)))
    },
  })
  const stop = observer.subscribe(() => {})
  const refresher = createRefresher(queries)
  return {
    askedAt,
    brokenOff: () => brokenOff,
    shown: () => queries.getQueryData<number>(['runs', null]) ?? Number.NEGATIVE_INFINITY,
    markStale: () => refresher.markStale(['runs']),
    close: () => {
      stop()
      queries.clear()
    },
  }
}

/**
 * Publishes an event every 6 ms, ten thousand in a minute; returns the greatest age of the list after its first
 * answer.
 */
async function aMinuteOfEvents(list: ReturnType<typeof aList>): Promise<number> {
  let oldest = 0
  for (let event = 0; event < 10_000; event++) {
    list.markStale()
    await vi.advanceTimersByTimeAsync(6)
    if (list.shown() > 0) oldest = Math.max(oldest, Date.now() - list.shown())
  }
  return oldest
}

it.each([50, 900, 4000])(
  'a list that takes %d ms is never broken off, never asked for too often, and never older than two answers and a pause',
  async (takesMs) => {
    const list = aList(() => takesMs)
    const oldest = await aMinuteOfEvents(list)
    const pauses = list.askedAt.slice(1).map((at, index) => at - (list.askedAt[index] ?? 0))
    expect(Math.min(...pauses.slice(1))).toBeGreaterThanOrEqual(refreshEveryMs)
    expect(oldest).toBeLessThanOrEqual(2 * takesMs + refreshEveryMs + 12)
    expect(list.brokenOff()).toBe(0)
    list.close()
  },
)

it('what was being fetched when the event came is asked for once more, and nothing where no event came', async () => {
  const list = aList(() => 2000)
  await vi.advanceTimersByTimeAsync(10)
  list.markStale()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(list.askedAt).toHaveLength(2)
  expect(list.shown()).toBe(list.askedAt[1])
  list.close()
})

it('an answer that never comes is asked for anew after a while', async () => {
  const list = aList((asking) => (asking === 2 ? 1e9 : 10))
  await vi.advanceTimersByTimeAsync(100)
  list.markStale()
  await vi.advanceTimersByTimeAsync(refreshEveryMs + refreshPatienceMs + 100)
  expect(list.askedAt).toHaveLength(3)
  expect(list.shown()).toBe(list.askedAt[2])
  list.close()
})
