import { describe, expect, test } from 'vitest'
import type { PriceSource } from './price-source.ts'

/**
 * A source that knows `token` on Base at 1.5 dollars and no other token, and that can be made to answer invalidly.
 */
export interface PriceSourceUnderTest {
  readonly source: PriceSource
  readonly token: string
  readonly now: number
  talkNonsense(): void
}

const never = new AbortController().signal

/** The contract that every price source must satisfy; `price-source.ts` describes it. */
export function describePriceSource(name: string, make: () => PriceSourceUnderTest): void {
  describe(`${name} as a source of prices`, () => {
    test(`${name} as a source of prices returns known prices with source and time, and null for unknown assets`, async () => {
      const { source, token, now } = make()
      expect(await source.quote({ chain: 'base', token }, never)).toEqual({
        source: source.name,
        attoUsd: 15n * 10n ** 17n,
        at: now,
      })
      const unknown = '0x000000000000000000000000000000000000dEaD'
      expect(await source.quote({ chain: 'base', token: unknown }, never)).toBeNull()
    })

    test(`${name} as a source of prices rejects on an invalid answer, and with the reason of a signal that is aborted`, async () => {
      const { source, token, talkNonsense } = make()
      const reason = new Error('the caller has gone')
      await expect(source.quote({ chain: 'base', token }, AbortSignal.abort(reason))).rejects.toBe(reason)
      talkNonsense()
      await expect(source.quote({ chain: 'base', token }, never)).rejects.toMatchObject({
        code: 'upstream-failed',
      })
    })
  })
}
