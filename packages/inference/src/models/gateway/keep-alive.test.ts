import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { keptByChurn, keptMaxBytes } from '../../../../../tests/support/kept-by-churn.ts'
import { createKeepAlive } from './keep-alive.ts'

const intervalMs = 15_000

function aWatch() {
  const clock = createManualClock()
  const stopping = new AbortController()
  const silence = createKeepAlive({ clock, intervalMs, stopped: stopping.signal })
  const rung: string[] = []
  return { clock, stopping, rung, join: (name: string) => silence.watch(() => rung.push(name)) }
}

describe('a watch over silences', () => {
  test('a watch over silences rings after each interval of silence and only then', async () => {
    const { clock, rung, join } = aWatch()
    const watched = join('a')
    await clock.advance(10_000)
    watched.progressed()
    await clock.advance(10_000)
    expect(rung).toEqual([])
    await clock.advance(5000)
    await clock.advance(15_000)
    expect(rung).toEqual(['a', 'a'])
    watched.end()
    await clock.advance(intervalMs)
    expect(rung).toEqual(['a', 'a'])
    expect(clock.sleepers()).toBe(0)
  })

  test('a watch over silences rings for each of many at its own time, with one timer', async () => {
    const { clock, rung, join } = aWatch()
    join('a')
    await clock.advance(6000)
    join('b')
    expect(clock.sleepers()).toBe(1)
    await clock.advance(9000)
    expect(rung).toEqual(['a'])
    await clock.advance(6000)
    expect(rung).toEqual(['a', 'b'])
    expect(clock.sleepers()).toBe(1)
  })

  test('a watch over silences begins anew after it was over', async () => {
    const { clock, rung, join } = aWatch()
    join('a').end()
    await clock.advance(intervalMs)
    join('b')
    await clock.advance(intervalMs)
    expect(rung).toEqual(['b'])
  })

  test('a watch over silences sleeps no more once it is stopped', async () => {
    const { clock, rung, stopping, join } = aWatch()
    join('a')
    stopping.abort(new Error('over'))
    expect(clock.sleepers()).toBe(0)
    await clock.advance(intervalMs)
    expect(rung).toEqual([])
  })

  test('a watch over silences keeps nothing of what has ended', () => {
    const silence = createKeepAlive({ clock: createManualClock(), intervalMs })
    const kept = keptByChurn((payload) => silence.watch(() => payload.length).end)
    expect(kept).toBeLessThan(keptMaxBytes)
  })
})
