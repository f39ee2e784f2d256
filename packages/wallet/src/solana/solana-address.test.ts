import { base58 } from '@scure/base'
import { address, isAddress } from '@solana/addresses'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { associatedAccount, hasKey } from './build-message.ts'
import { readAddress } from './solana-address.ts'
import { token2022Program, tokenProgram } from './token-layout.ts'

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

test('a Solana address is 32 bytes in base 58, including leading zeros', () => {
  fc.assert(
    fc.property(bytes32, (bytes) => {
      expect(readAddress(base58.encode(bytes))).toEqual(bytes)
    }),
  )
  expect(readAddress('1'.repeat(32))).toEqual(new Uint8Array(32))
  expect(readAddress('1'.repeat(33))).toBeNull()
  expect(readAddress('1'.repeat(31))).toBeNull()
})

test('any other length is not a Solana address', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(readAddress(base58.encode(bytes)) === null).toBe(bytes.length !== 32)
    }),
  )
})

test('addresses are accepted exactly as by the official library', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 50 })), (text) => {
      expect(readAddress(text) !== null).toBe(isAddress(text))
    }),
  )
})

test.each([
  ['the letter O in the place of o', tokenProgram.replace('o', 'O')],
  ['the letter l', tokenProgram.replace('k', 'l')],
  ['a zero', tokenProgram.replace('Q', '0')],
  ['a Cyrillic e', tokenProgram.replace('e', '\u0435')],
  ['full width', tokenProgram.replace('T', '\uff34')],
  ['a space before it', ` ${tokenProgram}`],
  ['a line after it', `${tokenProgram}\n`],
  ['a zero-width space', `${tokenProgram.slice(0, 9)}\u200b${tokenProgram.slice(9)}`],
  ['hexadecimal', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
])('%s makes a Solana address invalid', (_what, text) => {
  expect(readAddress(tokenProgram)).not.toBeNull()
  expect(readAddress(text)).toBeNull()
})

test('an address derived by a program has no key, and one of a key has', async () => {
  const key = address('HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk')
  expect(hasKey(key)).toBe(true)
  expect(hasKey(await associatedAccount(key, address(tokenProgram), address(token2022Program)))).toBe(false)
})
