import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loopCpuMs } from '../../../../foundation/src/platform/system-clock.ts'
import { createSseParser, freshProgress } from './sse-parser.ts'
import { createWholeEvents, eventEnd } from './whole-events.ts'

const rules = { wantsUsage: false, costUsdOf: () => 0, onDone: () => {} }

function cutInto(bytes: Buffer, pieceBytes: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
}

describe('the events of a stream', () => {
  test('the events of a stream come out whole and in order, however the bytes are cut', () => {
    const letters = fc.array(fc.constantFrom('a', '\n', '\r'), { maxLength: 40 })
    fc.assert(
      fc.property(letters, fc.integer({ min: 1, max: 5 }), (some, pieceBytes) => {
        const bytes = Buffer.from(some.join(''))
        const events = createWholeEvents()
        const taken = cutInto(bytes, pieceBytes).map((piece) => events.take(Buffer.from(piece)))
        for (const whole of taken) {
          if (whole !== null) expect(whole.toString()).toMatch(/\n\r?\n$/)
        }
        const rest = events.rest()
        if (rest !== null) expect(eventEnd(rest, 0)).toBe(-1)
        const all = [...taken, rest].filter((part) => part !== null)
        expect(Buffer.concat(all).toString()).toBe(bytes.toString())
      }),
      { numRuns: 2000 },
    )
  })

  test('the events of a stream are kept apart from bytes that their sender uses again', () => {
    const events = createWholeEvents()
    const piece = Buffer.from('data: 1')
    events.take(piece)
    piece.fill('x')
    expect(events.take(Buffer.from('\n\n'))?.toString()).toBe('data: 1\n\n')
  })

  test('the events of a stream cost no more when one of them is long and comes in small pieces', () => {
    const pieceBytes = 512
    const bytes = 4 * 1024 * 1024
    const text = 'data: '.padEnd(pieceBytes - 2, 'x')
    const short = cutInto(Buffer.from(`${text}\n\n`.repeat(bytes / pieceBytes)), pieceBytes)
    const long = cutInto(Buffer.from(`data: ${'x'.repeat(bytes)}`), pieceBytes)
    const cost = (pieces: readonly Buffer[]) => {
      const parser = createSseParser(freshProgress(), rules)
      const before = loopCpuMs()
      for (const piece of pieces) parser.take(piece)
      return loopCpuMs() - before
    }
    cost(short)
    const shortMs = Math.max(cost(short), 1)
    expect(cost(long) / shortMs).toBeLessThan(20)
  })
})
