import { describe, expect, test } from 'vitest'
import type { Chain } from './chain.ts'

/** A chain on which `rich` has exactly `hasRaw` and `poor` has no coins. */
export interface ChainUnderTest {
  readonly chain: Chain
  readonly rich: string
  readonly poor: string
  /** Other spellings of `rich` that the chain accepts. */
  readonly alsoRich: readonly string[]
  readonly hasRaw: bigint
  close(): Promise<void>
}

/** The contract that every chain adapter must satisfy; `chain.ts` describes it. */
export function describeChain(name: string, make: () => Promise<ChainUnderTest>): void {
  describe(`${name} as a chain`, () => {
    test(`${name} as a chain returns the exact balance of each address in the order of the addresses`, () =>
      withFresh(make, async ({ chain, rich, poor, alsoRich, hasRaw }) => {
        const signal = new AbortController().signal
        // The test needs a balance that a float cannot represent exactly.
        expect(hasRaw > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true)
        expect(await chain.balances([rich, poor], signal)).toEqual([hasRaw, 0n])
        expect(await chain.balances([poor, rich, poor], signal)).toEqual([0n, hasRaw, 0n])
        expect(await chain.balances(alsoRich, signal)).toEqual(alsoRich.map(() => hasRaw))
        expect(await chain.balances([], signal)).toEqual([])
      }))

    test(`${name} as a chain rejects with the reason of a signal that is aborted`, () =>
      withFresh(make, async ({ chain, rich }) => {
        const reason = new Error('the caller has gone')
        await expect(chain.balances([rich], AbortSignal.abort(reason))).rejects.toBe(reason)
      }))
  })
}

async function withFresh(
  make: () => Promise<ChainUnderTest>,
  work: (made: ChainUnderTest) => Promise<void>,
): Promise<void> {
  const made = await make()
  try {
    await work(made)
  } finally {
    await made.close()
  }
}
