import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nanoFromUsd, usdFromNano } from './money.ts'

describe('dollars that become nano-dollars', () => {
  test.each([
    ['a whole number of them stays', 0.000_000_001, 1],
    ['a dollar is a thousand million', 1, 1_000_000_000],
    ['a part of one costs a whole one, so that no call is paid with less than it costs', 1.5e-9, 2],
    ['what a sum of parts is too much by costs nothing', 0.1 + 0.2, 300_000_000],
    ['less than nothing is nothing: no budget is below zero', -1, 0],
  ])('%s', (_fact, usd, nano) => {
    expect(nanoFromUsd(usd)).toBe(nano)
  })

  test('dollars that become nano-dollars come back as the same number, up to a thousand dollars', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (nano) => {
        expect(nanoFromUsd(usdFromNano(nano))).toBe(nano)
      }),
    )
  })
})
