import { base58 } from '@scure/base'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeMint } from './judge-mint.ts'
import { readMint, readTokenAccount } from './token-layout.ts'

/** The account data of a token with nine decimals and these extensions. */
function mintBytes(extensions: readonly (readonly [number, Buffer])[], canFreeze = false): Buffer {
  const plain = Buffer.alloc(82)
  plain.writeBigUInt64LE(10n ** 15n, 36)
  plain[44] = 9
  plain[45] = 1
  if (canFreeze) plain[46] = 1
  if (extensions.length === 0) return plain
  const parts = extensions.map(([number, data]) => {
    const head = Buffer.alloc(4)
    head.writeUInt16LE(number)
    head.writeUInt16LE(data.length, 2)
    return Buffer.concat([head, data])
  })
  return Buffer.concat([plain, Buffer.alloc(165 - 82), Buffer.of(1), ...parts])
}

function verdictOf(...extensions: readonly (readonly [number, Buffer])[]) {
  const mint = readMint(mintBytes(extensions))
  if (mint === null) throw new Error('these bytes are no mint')
  return judgeMint(mint, 10n)
}

/** An address counts as set if a single byte is not zero. */
const somebody = Buffer.alloc(32).fill(7, 31)
const nobody = Buffer.alloc(32)

function feeRule(older: [epoch: bigint, most: bigint, bps: number], newer: typeof older): Buffer {
  const rule = Buffer.alloc(108)
  for (const [at, [epoch, most, bps]] of [
    [72, older],
    [90, newer],
  ] as const) {
    rule.writeBigUInt64LE(epoch, at)
    rule.writeBigUInt64LE(most, at + 8)
    rule.writeUInt16LE(bps, at + 16)
  }
  return rule
}

test.each<readonly [string, readonly [number, Buffer], RegExp]>([
  ['that cannot be transferred', [9, Buffer.alloc(0)], /cannot be transferred/],
  ['with a hook of a stranger', [14, Buffer.concat([nobody, somebody])], /an unknown program/],
  ['with a hook that is cut off', [14, nobody], /an unknown program/],
  ['that bears interest', [10, Buffer.alloc(52)], /bears interest/],
  ['that is scaled', [25, Buffer.alloc(56)], /scaled/],
  ['with an unknown extension', [99, Buffer.alloc(3)], /extension 99/],
  [
    'with a fee of more than all',
    [1, feeRule([0n, 9n, 10_001], [0n, 9n, 10_001])],
    /fee rule of the token cannot be read/,
  ],
  ['with a rule of fees that is cut off', [1, Buffer.alloc(107)], /fee rule of the token cannot be read/],
])('a token %s is refused', (_what, extension, words) => {
  expect(verdictOf(extension)).toEqual({ refused: expect.stringMatching(words) })
})

test('a refusal holds whatever else the mint contains', () => {
  const fine = fc.constantFrom(3, 4, 18, 19, 20, 22)
  fc.assert(
    fc.property(fc.uniqueArray(fine), fc.nat({ max: 6 }), (numbers, at) => {
      const extensions = numbers.map((number) => [number, Buffer.alloc(number)] as const)
      const all = [...extensions.slice(0, at), [9, Buffer.alloc(0)] as const, ...extensions.slice(at)]
      expect(verdictOf(...extensions)).toMatchObject({ refused: null, warnings: [] })
      expect(verdictOf(...all).refused).not.toBeNull()
    }),
  )
})

test("the issuer's powers over holders are shown before a payment", () => {
  expect(verdictOf([12, somebody])).toMatchObject({
    refused: null,
    warnings: [expect.stringMatching(/out of any account/)],
  })
  expect(verdictOf([12, nobody])).toMatchObject({ refused: null, warnings: [] })
  expect(verdictOf([14, Buffer.alloc(64)])).toMatchObject({ refused: null, warnings: [] })
  expect(verdictOf([6, Buffer.of(1)])).toMatchObject({ refused: null, warnings: [] })
  expect(verdictOf([6, Buffer.of(2)])).toMatchObject({ warnings: [expect.stringMatching(/frozen until/)] })
  expect(verdictOf([26, Buffer.alloc(33)])).toMatchObject({
    warnings: [expect.stringMatching(/stop all transfers/)],
  })
  const frozen = readMint(mintBytes([], true))
  if (frozen === null) throw new Error('these bytes are no mint')
  expect(judgeMint(frozen, 0n)).toMatchObject({ warnings: [expect.stringMatching(/freeze/)] })
})

test('the token fee is that of the epoch, rounded up, and at most its maximum', () => {
  const verdict = (epoch: bigint) => {
    const mint = readMint(mintBytes([[1, feeRule([0n, 50n, 100], [10n, 5_000n, 250])]]))
    const said = mint === null ? null : judgeMint(mint, epoch)
    if (said?.refused !== null || said.feeOf === null) throw new Error('this token has a fee')
    return said.feeOf
  }
  expect([1n, 100n, 101n, 1_000_000n].map(verdict(9n))).toEqual([1n, 1n, 2n, 50n])
  expect([1n, 40n, 41n, 1_000_000n].map(verdict(10n))).toEqual([1n, 1n, 2n, 5_000n])
  // The whole amount as fee is valid.
  expect(verdictOf([1, feeRule([0n, 9n, 10_000], [0n, 9n, 10_000])])).toMatchObject({ refused: null })
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), (raw) => {
      const fee = verdict(10n)(raw)
      expect(fee <= 5_000n && fee <= raw).toBe(true)
      expect(fee === 5_000n || fee * 10_000n >= raw * 250n).toBe(true)
    }),
  )
})

test('untrusted bytes are a mint, an account, or neither, and never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const data = Buffer.from(bytes)
      expect(readMint(data) === null || readTokenAccount(data) === null).toBe(true)
    }),
  )
  const whole = mintBytes([[3, somebody]])
  for (const [what, bytes] of [
    ['cut off', whole.subarray(0, -1)],
    ['of a kind of its own', Buffer.from(whole).fill(3, 165, 166)],
    ['of an account', Buffer.from(whole).fill(2, 165, 166)],
    ['with the number of one alone at its end', Buffer.concat([whole, Buffer.of(18, 0)])],
    ['as long as a multisig', Buffer.concat([whole, Buffer.alloc(355 - whole.length)])],
    ['not yet made', Buffer.from(whole).fill(0, 45, 46)],
    ['with something in its gap', Buffer.from(whole).fill(1, 100, 101)],
    [
      'with one twice',
      mintBytes([
        [3, somebody],
        [3, somebody],
      ]),
    ],
  ] as const) {
    expect(readMint(bytes), what).toBeNull()
  }
  expect(readMint(whole)).toMatchObject({ decimals: 9, supplyRaw: 10n ** 15n, canFreeze: false })
  // Zeros end the extensions, and bytes after them are ignored.
  const filled = readMint(Buffer.concat([whole, Buffer.alloc(9)]))
  expect([...(filled?.extensions.keys() ?? [])]).toEqual([3])
})

test('a token account contains owner, token, amount, and whether it is frozen', () => {
  const account = (state: number, behind = Buffer.alloc(0)): Buffer => {
    const plain = Buffer.alloc(165)
    plain.fill(1, 0, 32).fill(2, 32, 64)
    plain.writeBigUInt64LE(77n, 64)
    plain[108] = state
    return Buffer.concat([plain, behind])
  }
  const read = {
    mint: base58.encode(Buffer.alloc(32, 1)),
    owner: base58.encode(Buffer.alloc(32, 2)),
    raw: 77n,
    frozen: false,
  }
  expect(readTokenAccount(account(1))).toEqual(read)
  expect(readTokenAccount(account(2))).toEqual({ ...read, frozen: true })
  for (const state of [0, 3]) expect(readTokenAccount(account(state))).toBeNull()
  expect(readTokenAccount(account(1, Buffer.of(2, 7, 0, 0, 0)))).toEqual(read)
  // Data marked as a mint, or truncated after the marker, is not an account.
  for (const behind of [Buffer.of(1), Buffer.of(2, 7, 0, 1, 0)]) {
    expect(readTokenAccount(account(1, behind))).toBeNull()
  }
})
