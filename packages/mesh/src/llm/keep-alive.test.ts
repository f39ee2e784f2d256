import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../tests/support/manual-clock.ts'
import { withKeepAlive } from './keep-alive.ts'

const intervalMs = 15_000

/** A source that gives what it is handed, and ends when it is told to. */
function aSource() {
  const given: Uint8Array[] = []
  let wake = Promise.withResolvers<void>()
  const state = { isOver: false }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    while (!state.isOver || given.length > 0) {
      const next = given.shift()
      if (next) yield next
      else await wake.promise
    }
  }
  const ring = () => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  return {
    chunks: chunks(),
    give: (text: string) => {
      given.push(Buffer.from(text))
      ring()
    },
    end: () => {
      state.isOver = true
      ring()
    },
  }
}

describe('a stream that is kept alive', () => {
  test('says so after each interval of silence and only then', async () => {
    const clock = createManualClock()
    const source = aSource()
    const heard: string[] = []
    const reading = (async () => {
      for await (const chunk of withKeepAlive(source.chunks, { clock, intervalMs, onLeave: () => {} })) {
        heard.push(Buffer.from(chunk).toString().trim())
      }
    })()
    await clock.advance(10_000)
    source.give('a')
    await clock.advance(0)
    await clock.advance(10_000)
    expect(heard).toEqual(['a'])
    await clock.advance(5000)
    await clock.advance(15_000)
    expect(heard).toEqual(['a', ': keep-alive', ': keep-alive'])
    source.give('b')
    source.end()
    await reading
    expect(heard.at(-1)).toBe('b')
    expect(clock.sleepers()).toBe(0)
  })

  test('is let go by a reader that leaves during a silence', async () => {
    const clock = createManualClock()
    const source = aSource()
    const reading = (async () => {
      for await (const chunk of withKeepAlive(source.chunks, { clock, intervalMs, onLeave: source.end }))
        return chunk
      return null
    })()
    await clock.advance(intervalMs)
    expect(Buffer.from((await reading) ?? []).toString()).toBe(': keep-alive\n\n')
  })
})
