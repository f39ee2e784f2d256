import { Problem } from '@flotilla/protocol/problem'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { LiveState } from './live-store.ts'
import { createMeshWatch } from './mesh-watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function aWatch() {
  let line: LiveState['line'] = 'live'
  let answer: () => Promise<unknown> = async () => ({})
  const told = new Set<() => void>()
  const seen = { asked: 0, back: 0 }
  let now = 5000
  const watch = createMeshWatch({
    live: {
      read: () => ({ line, events: [], seq: 0, delays: new Map(), dropped: 0 }),
      subscribe: (listener) => {
        told.add(listener)
        return () => void told.delete(listener)
      },
    },
    ask: () => {
      seen.asked += 1
      return answer()
    },
    onBack: () => void (seen.back += 1),
    now: () => now,
  })
  const turn = (next: LiveState['line']) => {
    line = next
    for (const listener of told) listener()
  }
  const answers = (next: () => Promise<unknown>) => void (answer = next)
  const wait = (ms: number) => {
    now += ms
    return vi.advanceTimersByTimeAsync(ms)
  }
  return { watch, seen, turn, answers, wait }
}
const gone = () => Promise.reject(new Problem('mesh-unreachable'))

it('a mesh that neither streams nor answers is gone since its stream broke, and back by itself', async () => {
  const { watch, seen, turn, answers, wait } = aWatch()
  answers(gone)
  turn('broken')
  expect(watch.goneSince()).toBeNull()
  await wait(1000)
  expect(watch.goneSince()).toBe(5000)
  await wait(3000)
  expect(seen).toEqual({ asked: 2, back: 0 })
  answers(async () => ({}))
  watch.askNow()
  await wait(0)
  expect([watch.goneSince(), seen.back]).toEqual([null, 1])
})

it('a mesh that answers while its stream is broken is not gone, nor one that refuses', async () => {
  const { watch, turn, answers, wait } = aWatch()
  turn('broken')
  await wait(1000)
  expect(watch.goneSince()).toBeNull()
  answers(() => Promise.reject(new Problem('denied')))
  await wait(3000)
  expect(watch.goneSince()).toBeNull()
})

it('a mesh whose stream is back is not asked any more', async () => {
  const { watch, seen, turn, answers, wait } = aWatch()
  answers(gone)
  turn('broken')
  await wait(1000)
  turn('live')
  expect([watch.goneSince(), seen.back]).toEqual([null, 1])
  await wait(60_000)
  expect(seen.asked).toBe(1)
})

it('a mesh that answered while its stream was broken is gone since its last answer', async () => {
  const { watch, turn, answers, wait } = aWatch()
  turn('broken')
  await wait(1000)
  await wait(3000)
  answers(gone)
  await wait(3000)
  expect(watch.goneSince()).toBe(9000)
})

it('a proxy that answers in place of the mesh does not count as the mesh', async () => {
  const { watch, turn, answers, wait } = aWatch()
  answers(() => Promise.reject(new Problem('upstream-failed', { extra: { status: 502 } })))
  turn('broken')
  await wait(1000)
  expect(watch.goneSince()).toBe(5000)
  const own = { code: 'storage-failed', status: 503 }
  answers(() => Promise.reject(new Problem('agent-unavailable', { extra: own })))
  await wait(3000)
  expect(watch.goneSince()).toBeNull()
})

it('a mesh that accepts connections and answers nothing is gone', async () => {
  const { watch, turn, answers, wait } = aWatch()
  answers(() => Promise.reject(new DOMException('The operation timed out.', 'TimeoutError')))
  turn('broken')
  await wait(1000)
  expect(watch.goneSince()).toBe(5000)
})
