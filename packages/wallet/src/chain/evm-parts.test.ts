import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evmAddressOf } from './evm-address.ts'
import { decodeReturned, encodeCall, revertReason } from './evm-call.ts'
import { coinLogger, effectsOf, gainersIn, transferLog } from './evm-effects.ts'

const mine = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const wrong = expect.objectContaining({ code: 'bad-request' })

describe('an address of the EVM', () => {
  test('an EVM address is accepted in one letter case or with a valid checksum, and returned in EIP-55 spelling', () => {
    expect(
      [friend, friend.toLowerCase(), `0x${friend.slice(2).toUpperCase()}`].map((one) =>
        evmAddressOf(one, 'it'),
      ),
    ).toEqual([friend, friend, friend])
  })

  test('an EVM address with one letter in the wrong case is rejected', () => {
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
  ])('%j is not an EVM address', (text) => expect(() => evmAddressOf(text, 'it')).toThrow(wrong))
})

describe('a call', () => {
  test('a call is encoded as Solidity does', () => {
    expect(encodeCall({ function: 'transfer(address to, uint amount)', args: [friend, '5'] })).toEqual({
      signature: 'transfer(address,uint256)',
      data: `0xa9059cbb${friend.slice(2).toLowerCase().padStart(64, '0')}${'5'.padStart(64, '0')}`,
    })
    // From the ABI specification: f(uint256,uint32[],bytes10,bytes) and its arguments.
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

  test('integers survive encoding and decoding, and values out of range are rejected', () => {
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

  test('a reverted call gives its reason in plain words', () => {
    const text = Buffer.from('paused\u202e').toString('hex')
    const data = `0x08c379a0${'20'.padStart(64, '0')}${(text.length / 2).toString(16).padStart(64, '0')}${text.padEnd(64, '0')}`
    expect(revertReason(data)).toBe('paused')
    expect(revertReason('0x')).toBe('the contract gave no reason')
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
    effectsOf(mine, { logs: logs.map((log) => ({ address: token, ...log })), sentRaw: 0n })

  test('effects are summed for each asset, and transfers between others are ignored', () => {
    const moves = (from: string, to: string, raw: bigint) => ({
      topics: [transfer, topic(from), topic(to)],
      data: word(raw),
    })
    expect(
      of(moves(mine, friend, 5n), moves(friend, mine, 2n), moves(friend, token, 9n), moves(mine, mine, 7n)),
    ).toEqual({
      changes: [{ asset: token.toLowerCase(), raw: -3n }],
      // The second payee received some of it from the first.
      payees: [friend.toLowerCase(), token.toLowerCase()],
      grants: [],
    })
  })

  test('an ERC-721 token id counts as one, and approval for all as unlimited', () => {
    expect(of({ topics: [transfer, topic(mine), topic(friend), word(77n)], data: '0x' }).changes).toEqual([
      { asset: token.toLowerCase(), raw: -1n },
    ])
    expect(of({ topics: [forAll, topic(mine), topic(friend)], data: word(1n) }).grants).toMatchObject([
      { spender: friend.toLowerCase(), unlimited: true },
    ])
    expect(of({ topics: [forAll, topic(mine), topic(friend)], data: word(0n) }).grants).toEqual([])
  })

  test('the last of several approvals counts', () => {
    const approves = (raw: bigint) => ({ topics: [approval, topic(mine), topic(friend)], data: word(raw) })
    expect(of(approves(2n ** 255n), approves(0n)).grants).toEqual([])
    expect(of(approves(0n), approves(2n ** 255n)).grants).toMatchObject([{ unlimited: true }])
    expect(of(approves(2n ** 255n - 1n)).grants).toMatchObject([{ unlimited: false }])
  })

  describe('of Permit2', () => {
    const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
    const permit2Approval = '0xda9fa7c1b00402c17d0161b249b1ab8bbec047c5a52207b9c112deffd817036b'
    const approves = (raw: bigint) => ({
      address: token,
      topics: [approval, topic(mine), topic(friend)],
      data: word(raw),
    })
    const permits = (raw: bigint, address = permit2) => ({
      address,
      topics: [permit2Approval, topic(mine), topic(token), topic(friend)],
      data: `${word(raw)}${word(9n).slice(2)}`,
    })
    const grantsOf = (...logs: { address: string; topics: string[]; data: string }[]) =>
      effectsOf(mine, { logs, sentRaw: 0n }).grants

    test("a Permit2 approval does not change the token's own allowance", () => {
      for (const last of [permits(0n), permits(0n, friend)]) {
        expect(grantsOf(approves(2n ** 256n - 1n), last)).toMatchObject([
          { asset: token.toLowerCase(), spender: friend.toLowerCase(), unlimited: true },
        ])
      }
      expect(grantsOf(permits(2n ** 160n - 1n), approves(0n))).toMatchObject([{ unlimited: true }])
      expect(grantsOf(permits(2n ** 160n - 1n), permits(0n, friend))).toMatchObject([{ unlimited: true }])
    })

    test("a Permit2 approval adds to the token's own allowance, and its own last value counts", () => {
      expect(grantsOf(approves(5n), permits(7n))).toMatchObject([{ raw: 12n, unlimited: false }])
      expect(grantsOf(permits(7n), permits(3n))).toMatchObject([{ raw: 3n }])
      expect(grantsOf(permits(7n), permits(0n))).toEqual([])
    })

    test('a Permit2 approval is unlimited from half of its range', () => {
      expect(grantsOf(permits(2n ** 159n))).toMatchObject([{ unlimited: true }])
      expect(grantsOf(permits(2n ** 159n - 1n))).toMatchObject([{ unlimited: false }])
    })
  })

  test('approvals for one token id and for all are separate, and so are approvals for different ids', () => {
    const one = (id: bigint, spender: string) => ({
      topics: [approval, topic(mine), topic(spender), word(id)],
      data: '0x',
    })
    const all = (yes: bigint) => ({ topics: [forAll, topic(mine), topic(friend)], data: word(yes) })
    expect(of(all(1n), one(5n, friend)).grants).toMatchObject([{ unlimited: true }])
    expect(of(one(5n, friend), all(0n)).grants).toMatchObject([{ raw: 1n, unlimited: false }])
    expect(of(one(5n, friend), one(6n, friend)).grants).toMatchObject([{ raw: 2n }])
    expect(of(one(5n, friend), one(5n, `0x${'0'.repeat(40)}`)).grants).toEqual([])
  })

  test('assets that come back completely, and unknown or truncated events, have no effect', () => {
    const moves = (from: string, to: string, raw: bigint) => ({
      topics: [transfer, topic(from), topic(to)],
      data: word(raw),
    })
    expect(of(moves(mine, friend, 5n), moves(friend, mine, 5n))).toEqual({
      changes: [],
      payees: [friend.toLowerCase()],
      grants: [],
    })
    // The sender ends up with more and pays no one.
    expect(of(moves(mine, friend, 5n), moves(friend, mine, 9n)).payees).toEqual([friend.toLowerCase()])
    const nothing = { changes: [], payees: [], grants: [] }
    const unknown = `0x${'ab'.repeat(32)}`
    const kinds = [
      transfer,
      approval,
      forAll,
      '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
      '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
      '0x1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859',
      '0xb3fd5071835887567a0671151121894ddccc2842f1d10bedad13e0d17cace9a7',
      '0xda9fa7c1b00402c17d0161b249b1ab8bbec047c5a52207b9c112deffd817036b',
    ]
    for (const kind of kinds) {
      for (const topics of [[kind], [kind, topic(mine)]])
        expect(of({ topics, data: word(9n) })).toEqual(nothing)
    }
    expect(of({ topics: [], data: '0x' })).toEqual(nothing)
    for (const more of [
      [topic(mine), topic(friend)],
      [topic(mine), topic(friend), topic(token)],
    ]) {
      expect(of({ topics: [unknown, ...more], data: word(9n) })).toEqual(nothing)
    }
    // Approvals that name two addresses where three are required.
    for (const kind of kinds.slice(3, 5)) {
      expect(of({ topics: [kind, topic(mine), topic(friend)], data: word(9n) })).toEqual(nothing)
    }
    for (const kind of kinds.slice(6)) {
      expect(of({ topics: [kind, topic(mine), topic(friend)], data: word(9n) }).grants).toEqual([])
    }
    expect(of({ topics: [approval, topic(mine), topic(friend)], data: '0x' })).toEqual(nothing)
    // An approval by another owner has no effect.
    expect(of({ topics: [approval, topic(friend), topic(token)], data: word(9n) })).toEqual(nothing)
  })

  test('token ids of an ERC-1155 count as one each, single and in batches', () => {
    const single = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
    const batch = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
    for (const kind of [single, batch]) {
      expect(of({ topics: [kind, topic(token), topic(mine), topic(friend)], data: word(9n) })).toEqual({
        changes: [{ asset: token.toLowerCase(), raw: -1n }],
        payees: [friend.toLowerCase()],
        grants: [],
      })
    }
  })

  describe('of collectibles', () => {
    const single = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
    const batch = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
    const words = (...all: bigint[]) => `0x${all.map((one) => word(one).slice(2)).join('')}`
    const moved = (kind: string, data: string, [from, to] = [mine, friend]) => ({
      topics: [kind, topic(token), topic(from), topic(to)],
      data,
    })
    const lost = (...logs: { topics: string[]; data: string }[]) => of(...logs).changes.map(({ raw }) => raw)

    test('items of an ERC-1155 count by their amounts, single and in batches', () => {
      expect(lost(moved(single, words(9n, 20n)))).toEqual([-20n])
      expect(lost(moved(single, words(9n, 0n)))).toEqual([-1n])
      expect(lost(moved(batch, words(64n, 160n, 2n, 7n, 8n, 2n, 20n, 30n)))).toEqual([-50n])
      expect(lost(moved(batch, words(64n, 160n, 2n, 7n, 8n, 2n, 20n, 0n)))).toEqual([-21n])
      const many = Array.from({ length: 256 }, () => 1n)
      const list = (items: bigint[]) =>
        words(
          64n,
          64n + 32n * BigInt(items.length + 1),
          BigInt(items.length),
          ...items,
          BigInt(items.length),
          ...items,
        )
      expect(lost(moved(batch, list(many)))).toEqual([-256n])
      expect(lost(moved(batch, list([...many, 1n])))).toEqual([-1n])
    })

    test('a batch that cannot be read counts as one item', () => {
      for (const data of [
        '0x',
        words(64n),
        words(64n, 96n, 0n, 0n),
        // The second list is shorter, lies outside, is longer than the data, or does not begin at a word.
        words(64n, 160n, 2n, 7n, 8n, 1n, 20n),
        words(64n, 256n, 2n, 7n, 8n, 2n, 20n, 30n),
        words(64n, 160n, 2n, 7n, 8n, 3n, 20n, 30n),
        words(64n, 161n, 2n, 7n, 8n, 2n, 20n, 30n),
        words(64n, 2n ** 255n, 2n, 7n, 8n, 2n, 20n, 30n),
      ]) {
        expect(lost(moved(batch, data)), data).toEqual([-1n])
      }
    })

    test('an item that comes in does not balance another that leaves, and the same item does', () => {
      const item = (id: bigint, between = [mine, friend]) => ({
        topics: [transfer, ...between.map(topic), word(id)],
        data: '0x',
      })
      const back = [friend, mine]
      expect(lost(item(7n), item(9n, back))).toEqual([-1n])
      expect(lost(item(7n), item(7n, back))).toEqual([])
      expect(lost(item(7n, back), item(9n, back))).toEqual([2n])
      expect(lost(moved(single, words(7n, 5n)), moved(single, words(8n, 50n), [friend, mine]))).toEqual([-5n])
      expect(lost(moved(single, words(7n, 5n)), moved(single, words(7n, 3n), [friend, mine]))).toEqual([-2n])
      expect(lost(moved(single, words(7n, 5n)), moved(single, words(8n, 5n)))).toEqual([-10n])
      const numbered = (id: bigint, raw: bigint, between = [mine, friend]) => ({
        topics: [
          '0x1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859',
          ...between.map(topic),
          word(id),
        ],
        data: words(1n, raw),
      })
      expect(lost(numbered(7n, 5n), numbered(8n, 50n, [friend, mine]))).toEqual([-5n])
    })

    test('an address that exchanges items with a contract gains the one that it gets', () => {
      const [router, thief] = [`0x${'7'.repeat(40)}`, `0x${'8'.repeat(40)}`]
      const item = (id: bigint, from: string, to: string) => ({
        topics: [transfer, topic(from), topic(to), word(id)],
        data: '0x',
      })
      const { payees } = of(item(7n, mine, router), item(7n, router, thief), item(9n, thief, router))
      expect(payees).toEqual([router, thief])
    })
  })

  test('each of several spenders has its allowance from every source', () => {
    const permit = '0xc6a377bfc4eb120024a8ac08eef205be16b817020812c73223e81d1bdb9708ec'
    const permits = { topics: [permit, topic(mine), topic(token), topic(friend)], data: word(7n) }
    expect(of(permits).grants).toMatchObject([{ spender: friend.toLowerCase(), raw: 7n }])
    const given = '0xf4caeb2d6ca8932a215a353d0703c326ec2d81fc68170f320eb2ab49e9df61f9'
    const operates = '0xceb576d9f15e4e200fdb5096d64d5dfd667e16def20c1eefd14256d8e3faa267'
    const approves = '0xb3fd5071835887567a0671151121894ddccc2842f1d10bedad13e0d17cace9a7'
    const spenders = [friend, `0x${'7'.repeat(40)}`]
    const ways: readonly ((spender: string) => { topics: string[]; data: string })[] = [
      (spender) => ({ topics: [approval, topic(mine), topic(spender)], data: word(5n) }),
      (spender) => ({ topics: [forAll, topic(mine), topic(spender)], data: word(1n) }),
      (spender) => ({ topics: [operates, topic(mine), topic(spender)], data: word(1n) }),
      (spender) => ({ topics: [approves, topic(mine), topic(spender), word(3n)], data: word(5n) }),
      (spender) => ({ topics: [given, topic(spender), topic(mine)], data: '0x' }),
    ]
    for (const way of ways) {
      expect(of(...spenders.map(way)).grants.map(({ spender }) => spender)).toEqual(
        spenders.map((one) => one.toLowerCase()),
      )
    }
  })

  test('coin transfers in a simulation are read like token transfers', () => {
    const handed = transferLog(coinLogger, { from: mine.toLowerCase(), to: friend.toLowerCase(), raw: 7n })
    expect(handed).toEqual({
      address: coinLogger,
      topics: [transfer, topic(mine), topic(friend)],
      data: word(7n),
    })
    expect(effectsOf(mine, { logs: [handed], sentRaw: 7n })).toEqual({
      changes: [{ asset: null, raw: -7n }],
      payees: [friend.toLowerCase()],
      grants: [],
    })
  })

  test('an ERC-777 operator may send all until it is revoked', () => {
    const operator = (kind: string, whose = mine) => ({
      topics: [kind, topic(friend), topic(whose)],
      data: '0x',
    })
    const [given, gone] = [
      '0xf4caeb2d6ca8932a215a353d0703c326ec2d81fc68170f320eb2ab49e9df61f9',
      '0x50546e66e5f44d728365dc3908c63bc5cfeeab470722c1677e3073a6ac294aa1',
    ]
    expect(of(operator(given)).grants).toEqual([
      { asset: token.toLowerCase(), spender: friend.toLowerCase(), raw: 0n, unlimited: true },
    ])
    expect(of(operator(given), operator(gone)).grants).toEqual([])
    // For tokens of another holder.
    expect(of(operator(given, token)).grants).toEqual([])
  })

  test('an ERC-6909 contract is one asset for transfers, by their amount, and for operators', () => {
    const moved = '0x1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859'
    const approves = '0xb3fd5071835887567a0671151121894ddccc2842f1d10bedad13e0d17cace9a7'
    const operates = '0xceb576d9f15e4e200fdb5096d64d5dfd667e16def20c1eefd14256d8e3faa267'
    const asset = token.toLowerCase()
    const [payee] = [friend.toLowerCase()]
    expect(
      of({
        topics: [moved, topic(mine), topic(friend), word(7n)],
        data: `${topic(mine)}${word(900n).slice(2)}`,
      }),
    ).toEqual({ changes: [{ asset, raw: -900n }], payees: [payee], grants: [] })
    const one = (id: bigint, raw: bigint) => ({
      topics: [approves, topic(mine), topic(friend), word(id)],
      data: word(raw),
    })
    expect(of(one(7n, 900n)).grants).toEqual([{ asset, spender: payee, raw: 1n, unlimited: false }])
    expect(of(one(7n, 900n), one(7n, 0n)).grants).toEqual([])
    const all = (yes: bigint) => ({ topics: [operates, topic(mine), topic(friend)], data: word(yes) })
    expect(of(all(1n)).grants).toEqual([{ asset, spender: payee, raw: 1n, unlimited: true }])
    expect(of(all(1n), all(0n)).grants).toEqual([])
  })

  test('a payee that a contract pays from earlier deposits is reported separately', () => {
    const [vault, thief] = [`0x${'7'.repeat(40)}`, `0x${'8'.repeat(40)}`]
    const moves = (from: string, to: string, raw = 5n) => ({
      address: token,
      topics: [transfer, topic(from), topic(to)],
      data: word(raw),
    })
    const gained = (...logs: ReturnType<typeof moves>[]) => gainersIn(mine, logs)
    const withdrawn = moves(vault, thief)
    expect(effectsOf(mine, { logs: [withdrawn], sentRaw: 0n }).payees).toEqual([])
    expect(gained(withdrawn)).toEqual([thief])
    // Incoming, returned and burned amounts enrich no other address.
    expect(gained(moves(vault, mine))).toEqual([])
    expect(gained(withdrawn, moves(thief, vault))).toEqual([])
    expect(gained(moves(vault, `0x${'0'.repeat(40)}`))).toEqual([])
    expect(gained(withdrawn, moves(thief, vault, 4n), moves(mine, vault, 9n)).toSorted()).toEqual([
      vault,
      thief,
    ])
  })

  test('payees are direct recipients and addresses that end up with more', () => {
    const moves = (from: string, to: string, address = token) => ({
      address,
      topics: [transfer, topic(from), topic(to)],
      data: word(5n),
    })
    const [router, thief] = [`0x${'7'.repeat(40)}`, `0x${'8'.repeat(40)}`]
    expect(of(moves(mine, router), moves(router, thief)).payees).toEqual([router, thief])
    // Transfers of other owners have no effect, and a returned amount pays no one.
    expect(of(moves(router, thief)).payees).toEqual([])
    expect(of(moves(mine, router), moves(friend, thief, friend)).payees).toEqual([router])
    expect(of(moves(mine, router), moves(router, mine)).payees).toEqual([router])
    expect(of(moves(mine, router), moves(router, `0x${'0'.repeat(40)}`)).payees).toEqual([router])
    const coin = `0x${'e'.repeat(40)}`
    const handed = effectsOf(mine, {
      logs: [moves(mine, router, coin), moves(router, thief, coin)],
      sentRaw: 5n,
    })
    expect(handed).toEqual({ changes: [{ asset: null, raw: -5n }], payees: [router, thief], grants: [] })
  })
})
