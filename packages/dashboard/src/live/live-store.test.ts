import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLiveStore } from './live-store.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function aStore() {
  const requests: string[] = []
  const queries = {
    invalidateQueries: async (filter?: { queryKey?: readonly unknown[] }) =>
      void requests.push(JSON.stringify(filter?.queryKey?.[0] ?? 'all')),
    isFetching: () => 0,
  }
  const live = createLiveStore(queries)
  let drawings = 0
  live.subscribe(() => (drawings += 1))
  return { live, asked: requests, drawings: () => drawings }
}

const event = (seq: number): FleetEvent => ({
  seq,
  at: seq,
  body: { type: 'agent.stopped', agent_id: 'a', reason: 'idle' },
})

it('the live store draws ten thousand events of a minute a few times a second, keeps the newest, and asks once in a while', () => {
  const { live, asked, drawings } = aStore()
  for (let seq = 1; seq <= 10_000; seq++) {
    live.onEvent(event(seq))
    vi.advanceTimersByTime(6)
  }
  vi.advanceTimersByTime(1000)
  expect(live.read().seq).toBe(10_000)
  expect(live.read().events.at(-1)?.seq).toBe(10_000)
  expect(live.read().events.length).toBeLessThanOrEqual(400)
  expect(drawings()).toBeLessThan(500)
  expect(asked.length).toBeLessThan(100)
})

it('the live store asks for everything again after a break, and where events were dropped: once for all that was dropped meanwhile', async () => {
  const { live, asked } = aStore()
  live.onState('live')
  await vi.advanceTimersByTimeAsync(5000)
  expect(asked).toEqual([])
  live.onState('broken')
  live.onState('live')
  await vi.advanceTimersByTimeAsync(5000)
  expect(asked).toEqual(['"all"'])
  live.onDropped({ since: 5, dropped_until: 8 })
  live.onDropped({ since: 8, dropped_until: 9 })
  await vi.advanceTimersByTimeAsync(5000)
  expect(asked).toEqual(['"all"', '"all"'])
  expect(live.read()).toMatchObject({ line: 'live', dropped: 4 })
})
