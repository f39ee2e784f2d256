import { expect, test } from 'vitest'
import { createLineOutput, failedRetryMs, fullRetryMs, heldMaxBytes } from './line-output.ts'

/** A destination of bytes that a test lets fail, and the timers that wait for it. */
function aDestination() {
  const place = { text: '', fault: null as string | null, roomBytes: Infinity, tries: 0 }
  const timers: { readonly work: () => void; readonly ms: number }[] = []
  const output = createLineOutput({
    writeSome: (bytes) => {
      place.tries += 1
      if (place.fault !== null && place.roomBytes <= 0)
        throw Object.assign(new Error(), { code: place.fault })
      const taken = bytes.subarray(0, Math.min(bytes.length, place.roomBytes))
      place.roomBytes -= taken.length
      place.text += new TextDecoder().decode(taken)
      return taken.length
    },
    lossLine: (lines, code) => `lost ${lines} (${code})\n`,
    later: (work, ms) => timers.push({ work, ms }),
  })
  return {
    output,
    place,
    timers,
    fail: (fault: string, roomBytes = 0) => Object.assign(place, { fault, roomBytes }),
    heal: () => Object.assign(place, { fault: null, roomBytes: Infinity }),
    pass: () => timers.splice(0).forEach(({ work }) => work()),
  }
}

test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EFBIG', 'EPIPE', 'EBADF'])(
  'while writes fail with %s lines are dropped and counted, and the count precedes the next line',
  (code) => {
    const { output, place, fail, heal } = aDestination()
    output.write('a\n')
    fail(code)
    output.write('b\n')
    output.write('c\n')
    expect(output.dropped()).toBe(2)
    heal()
    output.write('d\n')
    expect(place.text).toBe(`a\nlost 2 (${code})\nd\n`)
    expect(output.dropped()).toBe(2)
  },
)

test('the count is written once there is room again, also where no further line comes', () => {
  const { output, place, timers, fail, heal, pass } = aDestination()
  fail('ENOSPC')
  output.write('a\n')
  expect(timers.map(({ ms }) => ms)).toEqual([failedRetryMs])
  pass()
  expect(place.text).toBe('')
  heal()
  pass()
  expect(place.text).toBe('lost 1 (ENOSPC)\n')
  pass()
  expect(timers).toEqual([])
})

test('a line that was cut off by a full disk does not spoil the line after it', () => {
  const { output, place, fail, heal } = aDestination()
  fail('ENOSPC', 3)
  output.write('abcdef\n')
  heal()
  output.write('whole\n')
  expect(place.text).toBe('abc\nlost 1 (ENOSPC)\nwhole\n')
})

test('a full pipe keeps lines in their order up to a bound, drops the rest, and says so', () => {
  const { output, place, timers, fail, heal, pass } = aDestination()
  fail('EAGAIN', 2)
  output.write('first\n')
  expect(timers.map(({ ms }) => ms)).toEqual([fullRetryMs])
  const big = `${'x'.repeat(1023)}\n`
  for (let count = 0; count < 300; count++) output.write(big)
  const kept = 300 - output.dropped()
  expect(kept * 1024).toBeLessThanOrEqual(heldMaxBytes)
  expect(kept).toBeGreaterThan(200)
  heal()
  pass()
  expect(place.text).toBe(`first\n${big.repeat(kept)}lost ${300 - kept} (EAGAIN)\n`)
})

test('a destination that takes nothing without an error is tried again later and not at once for ever', () => {
  const { output, place, timers } = aDestination()
  place.roomBytes = 0
  output.write('a\n')
  expect(place.tries).toBeLessThan(5)
  expect(timers.length).toBe(1)
})
