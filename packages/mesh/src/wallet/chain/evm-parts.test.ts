import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evmAddressOf } from './evm-address.ts'
import { decodeReturned, encodeCall, revertReason } from './evm-call.ts'
import { effectsOf } from './evm-effects.ts'

const mine = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const wrong = expect.objectContaining({ code: 'bad-request' })

describe('an address of the EVM', () => {
  test('is taken in one case, or in the case of its checksum, and spelled in that', () => {
    expect(
      [friend, friend.toLowerCase(), `0x${friend.slice(2).toUpperCase()}`].map((one) =>
        evmAddressOf(one, 'it'),
      ),
    ).toEqual([friend, friend, friend])
  })

  test('with a letter of another case is refused', () => {
    fc.assert(
      fc.property(fc.nat(39), (at) => {
        const letter = friend.charAt(at + 2)
        fc.pre(/[a-fA-F]/.test(letter))
        const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
        const text = `${friend.slice(0, at + 2)}${other}${friend.slice(at + 3)}`
        expect(() => evmAddressOf(text, 'it')).toThrow(wrong)
      }),
    )
  })

  test.each([
    '',
    'vitalik.eth',
    '0x1',
    `${friend}0`,
    friend.slice(2),
    friend.replace('C', 'С'),
    ` ${friend}`,
  ])('is not %j', (text) => expect(() => evmAddressOf(text, 'it')).toThrow(wrong))
})

describe('a call', () => {
  test('is encoded as Solidity does', () => {
    expect(encodeCall({ function: 'transfer(address to, uint amount)', args: [friend, '5'] })).toEqual({
      signature: 'transfer(address,uint256)',
      data: `0xa9059cbb${friend.slice(2).toLowerCase().padStart(64, '0')}${'5'.padStart(64, '0')}`,
    })
    // Of the specification of the ABI: f(uint256,uint32[],bytes10,bytes) and its arguments.
    const f = encodeCall({
      function: 'f(uint256,uint32[],bytes10,bytes)',
      args: ['291', ['1110', '1929'], '0x31323334353637383930', '0x48656c6c6f2c20776f726c6421'],
    })
    expect(f.data.slice(0, 10)).toBe('0x8be65246')
    expect(f.data).toContain('31323334353637383930'.padEnd(64, '0'))
    const tuple = encodeCall({ function: 'g((address a, uint256[2] a)[] x)', args: [[[friend, ['1', '2']]]] })
    expect(tuple.signature).toBe('g((address,uint256[2])[])')
    expect(decodeReturned(['(address,uint256[2])[]'], `0x${tuple.data.slice(10)}`)).toEqual([
      [[expect.stringMatching(new RegExp(friend, 'i')), ['1', '2']]],
    ])
  })

  test('of whole numbers comes back, and one that does not fit is refused', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (whole) => {
        const { data } = encodeCall({ function: 'f(uint256)', args: [String(whole)] })
        expect(decodeReturned(['uint256'], `0x${data.slice(10)}`)).toEqual([String(whole)])
      }),
    )
    const args: readonly (readonly [string, unknown])[] = [
      ['uint8', '256'],
      ['uint256', '-1'],
      ['uint256', '1.5'],
      ['uint256', 2 ** 60],
      ['int8', '-129'],
      ['bool', 'true'],
      ['address', 'vitalik.eth'],
      ['bytes4', '0x0011'],
      ['uint256[2]', ['1']],
      ['(uint256,bool)', ['1']],
      ['string', 5],
    ]
    for (const [type, value] of args) {
      expect(() => encodeCall({ function: `f(${type})`, args: [value] }), type).toThrow(wrong)
    }
    for (const name of [
      '',
      'f',
      'f(',
      'f(thing)',
      'f(uint7)',
      'f(uint256) returns (uint256)',
      'x'.repeat(2000),
    ]) {
      expect(() => encodeCall({ function: name, args: [] }), name).toThrow(wrong)
    }
    expect(() => encodeCall({ function: 'f(uint256)', args: [] })).toThrow(wrong)
  })

  test('that was undone says why in plain words', () => {
    const text = Buffer.from('paused\u202e').toString('hex')
    const data = `0x08c379a0${'20'.padStart(64, '0')}${(text.length / 2).toString(16).padStart(64, '0')}${text.padEnd(64, '0')}`
    expect(revertReason(data)).toBe('paused')
    expect(revertReason('0x')).toBe('it gave no reason')
  })
})

describe('what logs say of an owner', () => {
  const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
  const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`
  const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
  const approval = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
  const forAll = '0x17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31'
  const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
  const of = (...logs: { topics: string[]; data: string }[]) =>
    effectsOf(mine, { logs: logs.map((log) => ({ address: token, ...log })), sentRaw: 0n, named: token })

  test('is summed for each asset; what others move is nothing to it', () => {
    const moves = (from: string, to: string, raw: bigint) => ({
      topics: [transfer, topic(from), topic(to)],
      data: word(raw),
    })
    expect(
      of(moves(mine, friend, 5n), moves(friend, mine, 2n), moves(friend, token, 9n), moves(mine, mine, 7n)),
    ).toEqual({
      changes: [{ asset: token, raw: -3n }],
      payees: [friend.toLowerCase()],
      grants: [],
    })
  })

  test('has each thing of an ERC-721 as one, and leave to take all things as unlimited', () => {
    expect(of({ topics: [transfer, topic(mine), topic(friend), word(77n)], data: '0x' }).changes).toEqual([
      { asset: token, raw: -1n },
    ])
    expect(of({ topics: [forAll, topic(mine), topic(friend)], data: word(1n) }).grants).toMatchObject([
      { spender: friend.toLowerCase(), unlimited: true },
    ])
    expect(of({ topics: [forAll, topic(mine), topic(friend)], data: word(0n) }).grants).toEqual([])
  })

  test('has the last word of several approvals', () => {
    const approves = (raw: bigint) => ({ topics: [approval, topic(mine), topic(friend)], data: word(raw) })
    expect(of(approves(2n ** 255n), approves(0n)).grants).toEqual([])
    expect(of(approves(0n), approves(2n ** 255n)).grants).toMatchObject([{ unlimited: true }])
    expect(of(approves(2n ** 255n - 1n)).grants).toMatchObject([{ unlimited: false }])
  })
})
