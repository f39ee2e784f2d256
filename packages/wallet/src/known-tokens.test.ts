import { chainNames, chains, isSolanaChain } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { heedsLesson } from '../../../tests/verifies.ts'
import { defaultSettings } from '../../foundation/src/config/settings-file.ts'
import { evmAddressOf } from './chain/evm-address.ts'
import { plainSymbol } from './chain/json-rpc.ts'
import { knownTokensOf, soldAs } from './known-tokens.ts'
import { imitatedBy } from './payments/judge-tokens.ts'
import { httpPriceSource } from './prices/http-prices.ts'
import { readAddress } from './solana/solana-address.ts'

const never = new AbortController().signal
const testChains: readonly ChainName[] = ['sepolia', 'solana-devnet']

/** The price sources of a new home that would be asked for this token. */
async function sourcesOf(chain: ChainName, token: string | null): Promise<readonly string[]> {
  const requests: string[] = []
  for (const given of defaultSettings.wallet.price_sources) {
    const fetch = async () => {
      requests.push(given.kind)
      throw new Error('this test makes no requests')
    }
    await httpPriceSource(given, { fetch, clock: createManualClock() })
      .quote({ chain, token }, never)
      .catch(() => {})
  }
  return requests
}

describe.each(chainNames)('on %s', (chain) => {
  const tokens = Object.entries(knownTokensOf(chain))

  test('each known token has one address with a valid checksum', () => {
    for (const [name, address] of tokens) {
      if (isSolanaChain(chain)) expect(readAddress(address), name).not.toBeNull()
      else expect(evmAddressOf(address, name)).toBe(address)
    }
    expect(new Set(tokens.map(([, address]) => address)).size).toBe(tokens.length)
  })

  test('the coin has three price sources, and each known token has one more than those with cross rates', async () => {
    heedsLesson(18)
    expect(await sourcesOf(chain, null)).toEqual(['coinbase', 'kraken', 'coingecko'])
    for (const [name, address] of tokens) {
      const others = name === 'USDC' ? ['kraken'] : ['coinbase', 'kraken']
      const all = [...others, 'coingecko', 'defillama']
      expect(await sourcesOf(chain, address), name).toEqual(testChains.includes(chain) ? [] : all)
    }
  })

  test('an unknown token is priced by its address alone', async () => {
    const other = isSolanaChain(chain)
      ? 'So11111111111111111111111111111111111111112'
      : '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
    expect(soldAs({ chain, token: other })).toBeNull()
    const known = testChains.includes(chain) ? [] : ['coingecko', 'defillama']
    expect(await sourcesOf(chain, other)).toEqual(known)
  })
})

test('a token is found in any letter case of its address where case carries no meaning', () => {
  const { USDC = '', WETH = '' } = knownTokensOf('ethereum')
  expect(soldAs({ chain: 'ethereum', token: USDC.toLowerCase() })).toBe('USDC')
  expect(soldAs({ chain: 'ethereum', token: WETH })).toBe('ETH')
  const { USDC: mint = '' } = knownTokensOf('solana')
  expect(soldAs({ chain: 'solana', token: mint })).toBe('USDC')
  expect(soldAs({ chain: 'solana', token: mint.toLowerCase() })).toBeNull()
  // On another chain the same address may be a different contract.
  expect(soldAs({ chain: 'base', token: USDC })).toBeNull()
})

/** Letters of other alphabets and digits that look like a Latin letter. */
const drawnAlike: Readonly<Record<string, readonly string[]>> = {
  A: ['А', 'Α', 'а', 'Ａ'],
  C: ['С', 'с', 'Ϲ', 'Ｃ'],
  D: ['Ⅾ', 'Ꭰ'],
  E: ['Е', 'Ε', 'е'],
  H: ['Н', 'Η'],
  I: ['І', 'Ι', '1', 'l', '|'],
  L: ['Ⅼ', '1', 'I'],
  O: ['О', 'Ο', '0', 'о'],
  P: ['Р', 'Ρ', 'р'],
  R: ['Ꮢ'],
  S: ['Ѕ', '5', '$', 'ѕ'],
  T: ['Т', 'Τ'],
  U: ['Ս', 'υ'],
  W: ['Ԝ', 'VV'],
}
const unseen = ['', '\u200b', '\u200d', '\u2060', '\u00ad', '\u0301', ' ']

test('symbols that look like a coin or a known token are detected as imitations', () => {
  const names = knownTokensOf('ethereum')
  const symbols = [...Object.keys(names), ...Object.values(chains).map(({ coin }) => coin)]
  const cases = fc.constantFrom(...symbols).chain((symbol) => {
    const letters = Array.from(symbol)
    // Two letters stay unchanged, because fewer do not identify the original.
    return fc.record({
      kept: fc.subarray(
        letters.map((_, at) => at),
        { minLength: 2 },
      ),
      seeds: fc.array(fc.nat(), { minLength: letters.length, maxLength: letters.length }),
      symbol: fc.constant(symbol),
    })
  })
  fc.assert(
    fc.property(cases, ({ kept, seeds, symbol }) => {
      const drawn = Array.from(symbol).map((letter, at) => {
        const seed = seeds[at] ?? 0
        const likes = drawnAlike[letter] ?? [letter.toLowerCase()]
        const like = kept.includes(at) ? letter : (likes[seed % likes.length] ?? letter)
        return like + (unseen[seed % unseen.length] ?? '')
      })
      const told = plainSymbol(drawn.join(''))
      expect(imitatedBy({ address: '0x01', symbol: told }, names), told).not.toBeNull()
    }),
    { numRuns: 500 },
  )
})
