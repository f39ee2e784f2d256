import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { onceOnly } from '../../../foundation/src/storage/resumable.ts'
import {
  aPaymentsHarness,
  friend,
  never,
  owner,
  scout,
  sender,
} from '../../../testing/src/payments-harness.ts'

const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'

describe('limits', () => {
  test('limits are charged with the signature: of 64 concurrent payments, only as many are signed as a cent pays for', async () => {
    verifies('resources:permission:wallet-spend-limit-daily')
    heedsLesson(19)
    const { send, chain, states } = aPaymentsHarness({ record: { wallet_spend_limit_daily_usd: 0.01 } })
    // 0.000999 and a fee of at most 0.000001 dollars each.
    const refusals: unknown[] = []
    for (let wave = 0; wave < 4; wave++) {
      const ends = await Promise.allSettled(Array.from({ length: 16 }, () => send('0.000999')))
      refusals.push(...ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : [])))
    }
    expect(states()).toHaveLength(10)
    expect(new Set(chain.received).size).toBe(10)
    expect(refusals).toHaveLength(54)
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        code: 'denied',
        detail:
          'wallet_spend_limit_daily_usd: the limit is 0.01 US dollars a day, 0.01 are spent today, and this transfer counts for 0.001',
        extra: { field: 'wallet_spend_limit_daily_usd' },
      })
    }
  })

  test('limits are checked in order, and each refusal names the number and the field', async () => {
    verifies('resources:permission:wallet-spend-limit-per-tx')
    verifies('resources:permission:wallet-rate-limit')
    verifies('resources:permission:wallet-allowed-contracts')
    const all = {
      can_use_wallet: true,
      wallet_allowed_chains: ['base'],
      wallet_allowed_contracts: [token],
      wallet_spend_limit_per_tx_usd: 5,
      wallet_spend_limit_daily_usd: 5,
      wallet_rate_limit_per_hour: 1,
    }
    const refusal = async (record: object) => {
      const { send, chain } = aPaymentsHarness({
        record: { ...all, ...record },
        wallet: { approve_above_usd: 99 },
      })
      chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
      await send('0.5').catch(() => {})
      return send('6', { token }).catch((error: unknown) => error)
    }
    const of = (field: string, number: string) => ({
      code: 'denied',
      detail: expect.stringContaining(number),
      extra: { field },
    })
    expect(await refusal({ can_use_wallet: false, wallet_allowed_chains: [] })).toMatchObject(
      of('can_use_wallet', ''),
    )
    expect(await refusal({ wallet_allowed_chains: [], wallet_allowed_contracts: [] })).toMatchObject(
      of('wallet_allowed_chains', 'base'),
    )
    expect(await refusal({ wallet_allowed_contracts: [] })).toMatchObject(
      of('wallet_allowed_contracts', token),
    )
    expect(await refusal({})).toMatchObject(of('wallet_spend_limit_per_tx_usd', 'the limit is 5 '))
    expect(await refusal({ wallet_spend_limit_per_tx_usd: 50 })).toMatchObject(
      of('wallet_spend_limit_daily_usd', 'the limit is 5 '),
    )
    expect(
      await refusal({ wallet_spend_limit_per_tx_usd: 50, wallet_spend_limit_daily_usd: 50 }),
    ).toMatchObject(of('wallet_rate_limit_per_hour', 'the limit is 1 '))
  })

  test("the fleet's limits apply where a permission record says 0", async () => {
    const { send } = aPaymentsHarness({ wallet: { approve_above_usd: 99, spend_limit_per_tx_usd: 3 } })
    await expect(send('3.1')).rejects.toMatchObject({ extra: { field: 'wallet_spend_limit_per_tx_usd' } })
    expect(await send('2.9')).toMatchObject({ state: 'paid' })
  })
})

describe('a payment', () => {
  test('a payment with the same key is the same payment, sent with the same bytes', async () => {
    const { send, chain, states } = aPaymentsHarness()
    const first = await send('0.5', { key: 'run_1:7' })
    const second = await send('0.5', { key: 'run_1:7' })
    expect(first).toMatchObject({ state: 'paid', payment: { state: 'sent', counted_usd: 0.500001 } })
    expect(second).toMatchObject({ payment: { tx_id: 'payment' in first ? first.payment.tx_id : '' } })
    expect(new Set(chain.received).size).toBe(1)
    expect(states()).toEqual(['sent'])
  })

  test('a payment of another agent is not found by the same key', async () => {
    const { send, pay, database, states } = aPaymentsHarness()
    await send('0.5', { key: 'run_1:7' })
    const other = { ...scout, agentId: 'other' }
    const answer = await pay.transfer(
      other,
      { chain: 'base', to: friend, amount: '0.1' },
      { step: onceOnly(database), key: 'run_1:7', signal: never },
    )
    expect(answer).toMatchObject({ payment: { agent_id: 'other', counted_usd: 0.100001 } })
    expect(states()).toEqual(['sent', 'sent'])
    expect(pay.own(other, 9)).toHaveLength(1)
  })

  test('a payment whose broadcast seemed to fail is found where it landed', async () => {
    const { send, chain, poll, states, table } = aPaymentsHarness()
    chain.onBroadcast = (take) => {
      take()
      throw new Error('the line broke')
    }
    expect(await send('0.5')).toMatchObject({ payment: { state: 'signed' } })
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['confirmed'])
    expect(table.list({ agentId: 'scout', limit: 1 })[0]).toMatchObject({ block: 1, givenBackAt: null })
    expect(chain.received).toHaveLength(1)
  })

  test('a payment that no node accepted is sent again with the same bytes until it lands', async () => {
    const { send, chain, poll, states } = aPaymentsHarness()
    chain.onBroadcast = () => {
      throw new Error('refused')
    }
    await send('0.5')
    await poll()
    expect(states()).toEqual(['signed'])
    chain.onBroadcast = (take) => take()
    await poll()
    expect(states()).toEqual(['sent'])
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['confirmed'])
    expect(new Set(chain.received).size).toBe(1)
    expect(chain.received).toHaveLength(3)
  })

  test('a payment that a reorganization reverts is followed until a final block contains it', async () => {
    const { send, chain, poll, states, manage } = aPaymentsHarness()
    await send('0.5')
    chain.mine()
    await poll()
    expect(states()).toEqual(['landed'])
    chain.reorganize(1, true)
    await poll()
    expect(states()).toEqual(['sent'])
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['confirmed'])
    expect(new Set(chain.received).size).toBe(1)
    expect(manage.limits(owner)).toMatchObject({ stopped: null, agents: [{ spent_today_usd: 0.500001 }] })
  })

  test('a payment whose nonce a foreign signer used is refunded, and the wallet stops until its owner resumes it', async () => {
    const { send, chain, poll, states, manage } = aPaymentsHarness()
    chain.onBroadcast = () => {}
    await send('0.5')
    chain.sendElsewhere(sender)
    await poll()
    // Not final yet.
    expect(states()).toEqual(['sent'])
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['replaced'])
    expect(manage.limits(owner)).toMatchObject({
      stopped: expect.stringContaining('another program pays from the same seed'),
      agents: [{ spent_today_usd: 0, payments_last_hour: 0 }],
    })
    await expect(send('0.5')).rejects.toMatchObject({ code: 'wallet-stopped' })
    expect(manage.resume(owner).stopped).toBeNull()
    chain.onBroadcast = (take) => take()
    await send('0.5')
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['confirmed', 'replaced'])
  })

  test('a payment is not signed where the chain knows more transactions than this home has sent', async () => {
    const { send, chain, manage, journal } = aPaymentsHarness()
    await send('0.1')
    chain.mine()
    chain.sendElsewhere(sender)
    await expect(send('0.1')).rejects.toMatchObject({
      code: 'wallet-stopped',
      detail: expect.stringContaining('has sent 2 transactions, and this mesh knows of 1'),
    })
    // Stored, although the payment was refused.
    expect(manage.limits(owner).stopped).toContain('this home is an older copy')
    expect(journal.map(({ action }) => action)).toContain('wallet.stopped')
  })

  test('payments take consecutive nonces behind pending ones, each once', async () => {
    const { send, chain, table, poll, states } = aPaymentsHarness()
    chain.onBroadcast = () => {
      throw new Error('connection refused')
    }
    await Promise.all([send('0.1'), send('0.1'), send('0.1')])
    const nonces = table.list({ agentId: 'scout', limit: 9 }).map(({ place }) => place)
    expect(nonces.toReversed()).toEqual([0, 1, 2].map((nonce) => ({ kind: 'nonce', nonce })))
    chain.onBroadcast = (take) => take()
    await poll()
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['confirmed', 'confirmed', 'confirmed'])
  })
})

describe('a person is asked', () => {
  const because = async (harness: ReturnType<typeof aPaymentsHarness>, sent: Promise<unknown>) => {
    const answer = (await sent) as { state: string; because?: readonly string[] }
    expect(harness.chain.received).toEqual([])
    return [answer.state, ...(answer.because ?? [])]
  }

  test('the first payment to an address needs approval, and later ones do not', async () => {
    const harness = aPaymentsHarness()
    expect(await because(harness, harness.send('0.1', { to: stranger }))).toEqual([
      'waiting',
      `${stranger} was never paid before`,
    ])
    const { args } = harness.asked[0] ?? {}
    const words = harness.pay.kind.describe(args as never)
    expect(words).toMatchObject({
      subject: 'scout',
      summary: `pay 0.1 ETH (0.1 USD) to ${stranger} on base`,
      price: 'The fee is at most 0.000001 ETH (0.000001 USD).',
    })
    expect(words.consequences).toContain(`To ${stranger}.`)
    expect(harness.pay.kind.wasDone(args as never)).toBeNull()
    const done = await harness.pay.kind.carryOut(owner as never, args as never)
    expect(done).toContain('is sent')
    // A process that restarted after it does not carry it out again.
    expect(harness.pay.kind.wasDone(args as never)).toBe(done)
    await harness.pay.kind.carryOut(owner as never, args as never)
    expect(harness.states()).toEqual(['sent'])
    expect(await harness.send('0.1', { to: stranger })).toMatchObject({ state: 'paid' })
  })

  test("a payment above the owner's threshold needs approval, and all limits apply again at its confirmation", async () => {
    const harness = aPaymentsHarness({ record: { wallet_spend_limit_daily_usd: 3 } })
    expect(await because(harness, harness.send('2'))).toEqual([
      'waiting',
      'the payment counts for more than 1 USD',
    ])
    await harness.send('0.9')
    await harness.send('0.9')
    const { args } = harness.asked[0] ?? {}
    await expect(harness.pay.kind.carryOut(owner as never, args as never)).rejects.toMatchObject({
      code: 'denied',
      extra: { field: 'wallet_spend_limit_daily_usd' },
    })
  })

  test('a confirmed payment that has changed since is not signed', async () => {
    const harness = aPaymentsHarness({ record: { wallet_allowed_contracts: [token] } })
    harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    const moves = (raw: bigint) => {
      harness.chain.simulation = () => ({
        kind: 'moves',
        effects: { changes: [{ asset: token, raw }], payees: [], grants: [] },
      })
    }
    moves(-2_000_000n)
    const call = { chain: 'base' as const, contract: token, function: 'f()', args: [] }
    await harness.pay.execute(scout, call, {
      step: onceOnly(harness.database),
      key: 'run_1:1',
      signal: never,
    })
    const { args } = harness.asked[0] ?? {}
    moves(-2_500_000n)
    await expect(harness.pay.kind.carryOut(owner as never, args as never)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining(
        `2500000 base units of ${token} left the address, and the simulation showed 2000000`,
      ),
    })
    expect(harness.states()).toEqual([])
  })

  test('an unlimited allowance needs approval and counts for the whole balance', async () => {
    const harness = aPaymentsHarness({ record: { wallet_allowed_contracts: ['*'] } })
    harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    harness.chain.simulation = () => ({
      kind: 'moves',
      effects: {
        changes: [],
        payees: [],
        grants: [{ asset: token, spender: friend, raw: 500_000n, unlimited: true }],
      },
    })
    const call = {
      chain: 'base' as const,
      contract: token,
      function: 'approve(address,uint256)',
      args: [friend, String(2n ** 256n - 1n)],
    }
    const asked = harness.pay.execute(scout, call, {
      step: onceOnly(harness.database),
      key: 'run_1:1',
      signal: never,
    })
    expect(await because(harness, asked)).toEqual([
      'waiting',
      'the payment allows another address to take all of a token',
    ])
    // The summary must not say that nothing moves.
    const { summary, consequences } = harness.pay.kind.describe(harness.asked[0]?.args as never)
    expect(summary).toBe(
      `call approve(address,uint256) of ${token} on base, which lets ${friend} take ALL of the token ${token}`,
    )
    expect(consequences).toContain(
      `${friend} (friend) may take ALL of the token ${token} from then on, now and later; the address has 0.5 of the token ${token}, which has the symbol USDX (0.5 USD).`,
    )
    expect(await harness.pay.simulate(scout, call, never)).toMatchObject({ counted_usd: 0.500001 })
  })

  describe('whom a call pays deep in what it does', () => {
    const record = { wallet_allowed_contracts: ['*'] }
    const call = { chain: 'base' as const, contract: friend, function: 'f(bytes)', args: ['0x00'] }
    const paying = (payees: readonly string[], raw = -1000n) => ({
      kind: 'moves' as const,
      effects: { changes: [{ asset: token, raw }], payees, grants: [] },
    })
    const aCall = (payees: readonly string[]) => {
      const harness = aPaymentsHarness({ record })
      harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
      harness.chain.simulation = () => paying(payees)
      const more = { key: 'run_1:1', signal: never }
      const execute = () => harness.pay.execute(scout, call, { ...more, step: onceOnly(harness.database) })
      return { ...harness, execute }
    }

    test('a payee of a nested call is a first-time address like any other, even the token contract', async () => {
      const { execute, asked, pay } = aCall([friend, stranger, token])
      expect(await execute()).toMatchObject({
        state: 'waiting',
        because: [`${stranger} was never paid before`, `${token} was never paid before`],
      })
      const { consequences } = pay.kind.describe(asked[0]?.args as never)
      expect(consequences).toContain(`The call also pays ${stranger}, or gives them permissions.`)
    })

    test('an address that a call only names needs approval too, because it may receive something later', async () => {
      const { execute, asked, pay, chain } = aCall([])
      const names = (others: readonly string[]) => {
        chain.simulation = () => ({
          kind: 'moves',
          effects: { changes: [], payees: [], grants: [] },
          others,
        })
      }
      names([stranger.toLowerCase()])
      expect(await execute()).toMatchObject({
        state: 'waiting',
        because: [`${stranger.toLowerCase()} was never paid before`],
      })
      const args = asked[0]?.args as never
      expect(pay.kind.describe(args).consequences).toContain(
        `The call also names ${stranger.toLowerCase()}, which may receive something from it.`,
      )
      names([stranger, token])
      await expect(pay.kind.carryOut(owner as never, args)).rejects.toMatchObject({
        code: 'conflict',
        detail: expect.stringContaining(`${token} may receive something from the payment, and was not shown`),
      })
      names([stranger])
      expect(await pay.kind.carryOut(owner as never, args)).toContain('is sent')
      expect(await pay.simulate(scout, call, never)).toMatchObject({ asks_a_person: [] })
    })

    test('well-known tokens do not count as payees', async () => {
      const { chain, pay } = aCall([])
      const weth = '0x4200000000000000000000000000000000000006'
      const effects = { changes: [], payees: [], grants: [] }
      chain.simulation = () => ({ kind: 'moves', effects, others: [weth] })
      expect(await pay.simulate(scout, call, never)).toMatchObject({ asks_a_person: [] })
    })

    test('a call with more than twenty payees is refused, because a person cannot review them', async () => {
      const { chain, pay } = aCall([])
      const effects = { changes: [], payees: [], grants: [] }
      const named = (count: number) => {
        const others = Array.from({ length: count }, (_, at) => `0x${'a'.repeat(38)}${at + 10}`)
        chain.simulation = () => ({ kind: 'moves', effects, others })
        return pay.simulate(scout, call, never)
      }
      expect((await named(20)).asks_a_person).toHaveLength(20)
      await expect(named(21)).rejects.toMatchObject({
        code: 'not-simulated',
        detail: 'the call pays, gives permissions to, or names more than 20 addresses',
      })
    })

    test('a confirmed call whose payee has changed is not signed', async () => {
      const { execute, asked, pay, chain, states } = aCall([stranger])
      await execute()
      chain.simulation = () => paying([stranger, token])
      await expect(pay.kind.carryOut(owner as never, asked[0]?.args as never)).rejects.toMatchObject({
        code: 'conflict',
        detail: expect.stringContaining(`${token} was paid, which the simulation did not show`),
      })
      expect(states()).toEqual([])
    })

    test('a call that pays another address when it lands stops the wallet', async () => {
      const { execute, chain, poll, manage } = aCall([friend])
      expect(await execute()).toMatchObject({ state: 'paid' })
      const landed = async (payees: readonly string[]) => {
        chain.follow = async () => ({
          kind: 'landed',
          succeeded: true,
          block: 1,
          final: true,
          effects: paying(payees).effects,
        })
        await poll()
        return manage.limits(owner).stopped
      }
      expect(await landed([friend, stranger])).toBe(
        `pay_1 on base did more than its simulation showed: ${stranger} was paid, which the simulation did not show`,
      )
    })
  })

  describe('a token that is like one that the owner knows', () => {
    const known = { wallet: { approve_above_usd: 99, known_addresses: { friend, USDC: stranger } } }

    test('a look-alike token needs approval with a warning, whatever amount it counts for', async () => {
      const harness = aPaymentsHarness({ ...known, record: { wallet_allowed_contracts: [token] } })
      harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USD?' })
      const words = `the token ${token} with the symbol USD? is not the USDC that you know`
      expect(await because(harness, harness.send('0.01', { token }))).toEqual(['waiting', words])
      expect(harness.asked[0]?.args).toMatchObject({
        lines: expect.arrayContaining([`WARNING: ${words}.`]),
      })
    })

    test('a look-alike token is also flagged when it is received', async () => {
      const harness = aPaymentsHarness({ ...known, record: { wallet_allowed_contracts: ['*'] } })
      harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDC' })
      harness.chain.simulation = () => ({
        kind: 'moves',
        effects: { changes: [{ asset: token, raw: 5n }], payees: [], grants: [] },
      })
      const call = { chain: 'base' as const, contract: friend, function: 'swap()', args: [] }
      const { asks_a_person: reasons } = await harness.pay.simulate(scout, call, never)
      expect(reasons).toEqual([`the token ${token} with the symbol USDC is not the USDC that you know`])
    })
  })
})

test('a contract is read only if the permission record lists it', async () => {
  const { pay, chain } = aPaymentsHarness({ record: { wallet_allowed_contracts: [token] } })
  const asked: unknown[] = []
  chain.read = async (contract, call) => {
    asked.push([contract, call])
    return ['7']
  }
  const read = { chain: 'base' as const, function: 'total()', args: [], returns: ['uint256'] }
  expect(await pay.read(scout, { ...read, contract: token }, never)).toEqual({ returned: ['7'] })
  await expect(pay.read(scout, { ...read, contract: stranger }, never)).rejects.toMatchObject({
    code: 'denied',
    detail: `wallet_allowed_contracts does not list ${stranger}`,
    extra: { field: 'wallet_allowed_contracts' },
  })
  expect(asked).toEqual([[token, { function: 'total()', args: [], returns: ['uint256'] }]])
})

test("an agent's description of a call is one plain line for the person who decides", async () => {
  const harness = aPaymentsHarness({
    record: { wallet_allowed_contracts: ['*'] },
    wallet: { approve_above_usd: 0 },
  })
  const call = {
    chain: 'base' as const,
    contract: token,
    function: 'f(uint256\n\u202eTo a friend)',
    args: ['\u001b[2J'],
  }
  await harness.pay.execute(scout, call, { step: onceOnly(harness.database), key: 'run_1:1', signal: never })
  const { consequences, summary } = harness.pay.kind.describe(harness.asked[0]?.args as never)
  for (const line of [summary, ...consequences]) expect(line).toMatch(/^[\x20-\x7e…]*$/)
})

test("a call is described by its name and types from the chain, not by the agent's text", async () => {
  const harness = aPaymentsHarness({
    record: { wallet_allowed_contracts: ['*'] },
    wallet: { allow_unsimulated: [`base:${token}:approve(address,uint256)`] },
  })
  const { plan } = harness.chain
  harness.chain.plan = async (...given) => ({ ...(await plan(...given)), called: 'approve(address,uint256)' })
  harness.chain.simulation = () => ({ kind: 'unknown', reason: 'no such method' })
  const call = {
    chain: 'base' as const,
    contract: token,
    function: 'approve(address our_own_savings, uint256 nothing)',
    args: [stranger, '5'],
  }
  await harness.pay.execute(scout, call, { step: onceOnly(harness.database), key: 'run_1:1', signal: never })
  const { consequences, summary } = harness.pay.kind.describe(harness.asked[0]?.args as never)
  expect(summary).toContain(`call approve(address,uint256) of ${token} on base`)
  expect([summary, ...consequences].join()).not.toContain('savings')
})

describe('what a call would move', () => {
  const call = {
    chain: 'base' as const,
    contract: token,
    function: 'stake(uint256)',
    args: ['5'],
    amount: '0.25',
  }
  const executed = (harness: ReturnType<typeof aPaymentsHarness>) =>
    harness.pay.execute(scout, call, { step: onceOnly(harness.database), key: 'run_1:1', signal: never })

  test('a call with unknown effects is refused, unless the owner named that contract and function', async () => {
    const refused = aPaymentsHarness({ record: { wallet_allowed_contracts: ['*'] } })
    refused.chain.simulation = () => ({ kind: 'unknown', reason: 'no such method' })
    await expect(executed(refused)).rejects.toMatchObject({ code: 'not-simulated' })
    const allowed = aPaymentsHarness({
      record: { wallet_allowed_contracts: ['*'] },
      wallet: { allow_unsimulated: [`base:${token.toLowerCase()}:stake(uint256)`] },
    })
    allowed.chain.simulation = refused.chain.simulation
    expect(await executed(allowed)).toMatchObject({
      state: 'waiting',
      because: [`${token} was never paid before`, 'the effects of the payment are unknown'],
    })
    const { summary, consequences } = allowed.pay.kind.describe(allowed.asked[0]?.args as never)
    expect(summary).toBe(
      `call stake(uint256) of ${token} on base, which moves 0.25 ETH (0.25 USD); its other effects are unknown`,
    )
    expect(consequences).toContain('The other effects of the payment are unknown: no such method.')
    const bare = await allowed.pay.execute(
      scout,
      { ...call, amount: undefined },
      { step: onceOnly(allowed.database), key: 'run_1:2', signal: never },
    )
    expect(bare).toMatchObject({ state: 'waiting' })
    expect(allowed.pay.kind.describe(allowed.asked[1]?.args as never).summary).toBe(
      `call stake(uint256) of ${token} on base; its other effects are unknown`,
    )
    expect(await refused.send('0.1')).toMatchObject({ state: 'paid' })
  })

  test('a token call with unknown effects counts by its arguments, against all limits and for approval', async () => {
    const allow_unsimulated = [`base:${token}:transfer(address,uint256)`]
    const given = (record: object) => {
      const harness = aPaymentsHarness({
        record: { wallet_allowed_contracts: [token], ...record },
        wallet: { allow_unsimulated },
      })
      harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
      harness.chain.simulation = () => ({ kind: 'unknown', reason: 'no such method' })
      return harness
    }
    const { send, asked, pay } = given({ wallet_spend_limit_per_tx_usd: 5 })
    await expect(send('6', { token })).rejects.toMatchObject({
      extra: { field: 'wallet_spend_limit_per_tx_usd' },
    })
    expect(await send('4', { token })).toMatchObject({ state: 'waiting' })
    const { summary, consequences } = pay.kind.describe(asked[0]?.args as never)
    expect(summary).toBe(
      `pay 4 of the token ${token}, which has the symbol USDX (4 USD) to ${friend} on base; its other effects are unknown`,
    )
    expect(consequences).toContain('The payment counts for 4.000001 USD against the limits of the agent.')
  })

  test('a call that would revert is refused', async () => {
    const harness = aPaymentsHarness({ record: { wallet_allowed_contracts: ['*'] } })
    harness.chain.simulation = () => ({ kind: 'fails', reason: 'transfers are paused' })
    await expect(executed(harness)).rejects.toMatchObject({
      code: 'would-fail',
      detail: 'transfers are paused',
    })
  })
})
