import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { evmAddress, evmKey, solanaAddress } from './derive-keys.ts'
import { isMnemonic, newMnemonic, plainMnemonic, seedOf } from './make-seed.ts'

/** The first vector of BIP-39, without its passphrase. */
const abandon = `${'abandon '.repeat(11)}about`
/** The words with which development chains (Hardhat, Anvil) fund their accounts. */
const junk = `${'test '.repeat(11)}junk`

describe('the seed of words', () => {
  test('the seed of words matches BIP-39', async () => {
    expect((await seedOf(abandon)).toString('hex')).toBe(
      '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4',
    )
  })

  test('words are made of 256 random bits, which are wiped, and contain a valid checksum', () => {
    const drawn: Buffer[] = []
    const words = newMnemonic((count) => {
      const bytes = Buffer.alloc(count)
      drawn.push(bytes)
      return bytes
    })
    // The BIP-39 vector for 32 zero bytes.
    expect(words).toBe(`${'abandon '.repeat(23)}art`)
    expect(drawn.map(({ length }) => length)).toEqual([32])
    const entropy = Buffer.alloc(32, 7)
    newMnemonic(() => entropy)
    expect(entropy.every((byte) => byte === 0)).toBe(true)
    expect(isMnemonic(newMnemonic(randomBytes))).toBe(true)
  })

  test('words are accepted as people type them, and rejected with one wrong, missing or misplaced', () => {
    expect(isMnemonic(plainMnemonic(`  ${abandon.toUpperCase().replaceAll(' ', '\n \t')} `))).toBe(true)
    expect(isMnemonic(`${'abandon '.repeat(11)}abandon`)).toBe(false)
    expect(isMnemonic(abandon.slice('abandon '.length))).toBe(false)
    expect(isMnemonic(`about ${'abandon '.repeat(11)}`.trim())).toBe(false)
    expect(isMnemonic(abandon.replace('about', 'abouts'))).toBe(false)
    expect(isMnemonic('')).toBe(false)
  })
})

describe('keys on EVM chains', () => {
  test("EVM keys are at BIP-44's m/44'/60'/0'/0/index, with EIP-55 addresses", async () => {
    verifies('endpoints:wallet:evm-keys')
    const seed = await seedOf(junk)
    expect([0, 1, 2].map((index) => evmAddress(seed, index))).toEqual([
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    ])
    expect(evmAddress(await seedOf(abandon), 0)).toBe('0x9858EfFD232B4033E47d90003D41EC34EcaEda94')
  })
})

test('the key of an EVM address is the one that common wallets show', async () => {
  const seed = await seedOf(junk)
  expect(Buffer.from(evmKey(seed, 0)).toString('hex')).toBe(
    'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  )
  expect(evmKey(seed, 1)).not.toEqual(evmKey(seed, 0))
})

describe('keys on Solana', () => {
  test('Solana keys are the HMAC-SHA512 of the path over the PBKDF2 of the words', async () => {
    verifies('endpoints:wallet:solana-keys')
    // No wallet publishes vectors of it; these were computed independently with Python's hashlib and RFC 8032
    // arithmetic.
    const seed = await seedOf(abandon)
    expect([0, 1].map((index) => solanaAddress(seed, index, 'hmac'))).toEqual([
      '6fz6eXjPf2wHkMujtswrxnHFD7fdiqrVnvNqmT6h4rJs',
      'D2F4JuTvZ4pHvJbtW4S7iW98CA5p78JrQcnZdQqYMk1t',
    ])
  })

  test('Solana keys match common wallets by SLIP-10 if the owner configures it', async () => {
    const seed = await seedOf(abandon)
    expect([0, 1].map((index) => solanaAddress(seed, index, 'slip-10'))).toEqual([
      'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk',
      'Hh8QwFUA6MtVu1qAoq12ucvFHNwCcVTV7hpWjeY1Hztb',
    ])
  })
})

test('deriving keys does not change the seed', async () => {
  const seed = await seedOf(abandon)
  const before = seed.toString('hex')
  evmAddress(seed, 3)
  evmKey(seed, 3)
  solanaAddress(seed, 3, 'hmac')
  solanaAddress(seed, 3, 'slip-10')
  expect(seed.toString('hex')).toBe(before)
})

describe('what a key is made of is overwritten', () => {
  test('deriving an EVM key wipes the root and the node below it', async () => {
    const seed = await seedOf(junk)
    for (const derive of [evmAddress, evmKey]) {
      const wiped = vi.spyOn(HDKey.prototype, 'wipePrivateData')
      onTestFinished(() => wiped.mockRestore())
      derive(seed, 1)
      expect(new Set(wiped.mock.contexts).size).toBe(2)
      for (const node of wiped.mock.contexts) expect(node).toMatchObject({ privateKey: null })
      wiped.mockRestore()
    }
  })

  test('deriving a Solana key wipes each node and the encoded key', async () => {
    const seed = await seedOf(junk)
    const joined = vi.spyOn(Buffer, 'concat')
    onTestFinished(() => joined.mockRestore())
    solanaAddress(seed, 1, 'hmac')
    expect(joined).toHaveBeenCalledTimes(1)
    solanaAddress(seed, 1, 'slip-10')
    expect(joined).toHaveBeenCalledTimes(6)
    for (const { value } of joined.mock.results) expect([...value].every((byte) => byte === 0)).toBe(true)
    // The second joined part is a key each time.
    for (const [[, key] = []] of joined.mock.calls) expect(key?.every((byte) => byte === 0)).toBe(true)
  })
})
