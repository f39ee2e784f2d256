import { generateKeyPairSync, verify } from 'node:crypto'
import { base58 } from '@scure/base'
import {
  address,
  assertIsInstructionWithAccounts,
  assertIsInstructionWithData,
  decompileTransactionMessage,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import type { Instruction } from '@solana/kit'
import { parseTransferSolInstruction } from '@solana-program/system'
import {
  parseCreateAssociatedTokenIdempotentInstruction,
  parseTransferCheckedInstruction,
} from '@solana-program/token'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildMessage } from './build-message.ts'
import { computeLimit, computePrice, createAccount, transferCoin, transferToken } from './instructions.ts'
import { signMessage, unsignedWire, withBlockhash } from './message.ts'
import { token2022Program, tokenProgram } from './token-layout.ts'

const someAddress = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => address(base58.encode(bytes)))
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

function aKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  return {
    key: Buffer.from(d, 'base64url'),
    from: address(base58.encode(Buffer.from(x, 'base64url'))),
    publicKey,
  }
}

/** Decodes with the official library. */
function decoded(message: Uint8Array) {
  return decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(message))
}

function whole(instruction: Instruction | undefined) {
  if (instruction === undefined) throw new Error('there is no such instruction')
  assertIsInstructionWithAccounts(instruction)
  assertIsInstructionWithData(instruction)
  return instruction
}

function addressesOf(accounts: Readonly<Record<string, { readonly address: string } | undefined>>) {
  return Object.fromEntries(Object.entries(accounts).map(([name, one]) => [name, one?.address]))
}

describe('the message of a transfer', () => {
  test('the official decoder reads a coin transfer with the intended addresses and amounts', () => {
    const { from } = aKey()
    fc.assert(
      fc.property(someAddress, u64, someAddress, (to, raw, hash) => {
        fc.pre(to !== from)
        const message = withBlockhash(
          buildMessage(from, [computeLimit(1_000), computePrice(7n), transferCoin(from, to, raw)]),
          hash,
        )
        const said = decoded(message)
        expect(said.feePayer.address).toBe(from)
        expect('blockhash' in said.lifetimeConstraint && said.lifetimeConstraint.blockhash).toBe(hash)
        expect(said.instructions).toHaveLength(3)
        const { accounts, data } = parseTransferSolInstruction(whole(said.instructions[2]))
        expect([accounts.source.address, accounts.destination.address, data.amount]).toEqual([from, to, raw])
      }),
    )
  })

  test('the official decoder reads a token transfer as intended', () => {
    const { from } = aKey()
    const three = fc.uniqueArray(someAddress, { minLength: 5, maxLength: 5 })
    fc.assert(
      fc.property(three, u64, fc.nat({ max: 255 }), ([mint, source, target, owner], raw, decimals) => {
        if (mint === undefined || source === undefined || target === undefined || owner === undefined) return
        const program = address(tokenProgram)
        const token = { program, mint, decimals }
        const message = buildMessage(from, [
          createAccount(token, { from, owner, account: target }),
          transferToken(token, { source, target, owner: from }, { raw, fee: null }),
        ])
        const [made, moved] = decoded(message).instructions
        const creation = parseCreateAssociatedTokenIdempotentInstruction(whole(made))
        expect(addressesOf(creation.accounts)).toEqual({
          payer: from,
          ata: target,
          owner,
          mint,
          systemProgram: address('11111111111111111111111111111111'),
          tokenProgram: program,
        })
        const transfer = parseTransferCheckedInstruction(whole(moved))
        expect(addressesOf(transfer.accounts)).toEqual({ source, mint, destination: target, authority: from })
        expect(transfer.data).toMatchObject({ amount: raw, decimals })
      }),
    )
  })
})

describe('a signature', () => {
  const { key, from, publicKey } = aKey()
  const { from: to } = aKey()
  const message = withBlockhash(buildMessage(from, [transferCoin(from, to, 5n)]), tokenProgram)

  test("a signature covers those bytes with the payer's key and is deterministic", () => {
    const signed = signMessage(message, key)
    expect(signMessage(message, key)).toEqual(signed)
    const wire = Buffer.from(signed.bytes, 'base64')
    const { messageBytes, signatures } = getTransactionDecoder().decode(wire)
    expect(Buffer.from(messageBytes)).toEqual(message)
    const own = signatures[from]
    if (own == null) throw new Error('it is not signed')
    expect(getBase58Decoder().decode(own)).toBe(signed.id)
    expect(verify(null, message, publicKey, own)).toBe(true)
  })

  test('a signature with any other key is refused', () => {
    expect(() => signMessage(message, aKey().key)).toThrow('not that of the payer')
  })

  test('only a message with one signer is signed', () => {
    for (const bytes of [Buffer.alloc(0), message.subarray(0, 60), Buffer.from([0x80, ...message])]) {
      expect(() => signMessage(bytes, key)).toThrow(/message/)
    }
    const two = Buffer.from(message)
    two[0] = 2
    expect(() => signMessage(two, key)).toThrow(/one signer/)
  })

  test('a message needs a valid number of accounts and data after the blockhash', () => {
    /** A message with that many accounts, the blockhash, and that many bytes after it. */
    const bytes = (accounts: number, behind: number) => {
      const all = Buffer.alloc(4 + accounts * 32 + 32 + behind)
      all[0] = 1
      all[3] = accounts
      return all
    }
    for (const accounts of [1, 127])
      expect(withBlockhash(bytes(accounts, 1), tokenProgram)).toHaveLength(37 + 32 * accounts)
    for (const accounts of [0, 128]) {
      expect(() => withBlockhash(bytes(accounts, 1), tokenProgram)).toThrow('no message of one signer')
    }
    for (const behind of [-32, -31, -1, 0]) {
      expect(() => withBlockhash(bytes(2, behind), tokenProgram)).toThrow('this message is cut off')
    }
  })

  test('the encoded key is overwritten whatever the result', () => {
    const joined = vi.spyOn(Buffer, 'concat')
    onTestFinished(() => joined.mockRestore())
    signMessage(message, key)
    expect(() => signMessage(message, aKey().key)).toThrow('not that of the payer')
    const forms = joined.mock.results.map(({ value }) => value).filter(({ length }) => length === 48)
    expect(forms).toHaveLength(2)
    for (const form of forms) expect(form.every((byte: number) => byte === 0)).toBe(true)
  })

  test('signing changes only the blockhash of a message', () => {
    const other = withBlockhash(message, token2022Program)
    const differ = [...message.keys()].filter((at) => message[at] !== other[at])
    expect(Math.max(...differ) - Math.min(...differ)).toBeLessThan(32)
    expect(withBlockhash(other, tokenProgram)).toEqual(message)
    expect(() => withBlockhash(message, 'no hash')).toThrow('no blockhash')
    expect(Buffer.from(unsignedWire(message), 'base64').subarray(65)).toEqual(message)
  })
})
