import { describe, expect, test } from 'vitest'
import type { Chain } from './chain.ts'

/** A chain on which `rich` has exactly `hasRaw` and `poor` has nothing. */
export interface ChainUnderTest {
  readonly chain: Chain
  readonly rich: string
  readonly poor: string
  /** Other spellings of `rich` that the chain takes for the same. */
  readonly alsoRich: readonly string[]
  readonly hasRaw: bigint
  close(): Promise<void>
}

/** What every chain owes its callers; the words are in `chain.ts`. */
export function describeChain(name: string, make: () => Promise<ChainUnderTest>): void {
  describe(`${name} as a chain`, () => {
    test('tells what each address has to the last unit, in the order of the addresses', () =>
      withFresh(make, async ({ chain, rich, poor, alsoRich, hasRaw }) => {
        const signal = new AbortController().signal
        // Above what a float can hold.
        expect(hasRaw > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true)
        expect(await chain.balances([rich, poor], signal)).toEqual([hasRaw, 0n])
        expect(await chain.balances([poor, rich, poor], signal)).toEqual([0n, hasRaw, 0n])
        expect(await chain.balances(alsoRich, signal)).toEqual(alsoRich.map(() => hasRaw))
        expect(await chain.balances([], signal)).toEqual([])
      }))

    test('rejects with the reason of a signal that is aborted', () =>
      withFresh(make, async ({ chain, rich }) => {
        const reason = new Error('nobody waits')
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
