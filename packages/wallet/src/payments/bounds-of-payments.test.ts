import { describe, expect, test } from 'vitest'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { onceOnly } from '../../../foundation/src/storage/resumable.ts'
import {
  aPaymentsHarness,
  friend,
  never,
  owner,
  scout,
  sender,
} from '../../../testing/src/payments-harness.ts'
import { createFakePayingChain } from '../chain/fake-paying-chain.ts'

const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const max = { kind: 'human', channel: 'cli', role: 'owner', person: 'max' } as const
const dayMs = 24 * 3_600_000

describe('an order', () => {
  test('at most sixteen payments are assessed at once, and each that ends makes room for one', async () => {
    const { chain, send } = aPaymentsHarness()
    const { plan } = chain
    const gate = Promise.withResolvers<void>()
    chain.plan = async (...given) => {
      await gate.promise
      return plan(...given)
    }
    const open = Array.from({ length: 16 }, () => send('0.01'))
    await expect(send('0.01')).rejects.toMatchObject({
      code: 'rate-limited',
      detail: 'the maximum for one agent is reached: too many payments that are being checked at once',
      retryAfterSeconds: 2,
    })
    gate.resolve()
    expect((await Promise.all(open)).map(({ state }) => state)).toEqual(Array(16).fill('paid'))
    chain.plan = () => Promise.reject(new Error('no more of them'))
    // A payment that fails also frees its place.
    for (let times = 0; times < 17; times++) await expect(send('0.01')).rejects.toThrow('no more of them')
  })

  test('payments of one agent leave room for those of others, and for confirmed ones', async () => {
    const { chain, send, pay, asked } = aPaymentsHarness({ record: { wallet_allowed_contracts: ['*'] } })
    expect(await send('0.03', { to: stranger })).toMatchObject({ state: 'waiting' })
    const { plan } = chain
    const gate = Promise.withResolvers<void>()
    chain.plan = async (...given) => {
      await gate.promise
      return plan(...given)
    }
    const call = { chain: 'base' as const, contract: friend, function: 'f()', args: [] }
    const hogs = ['scout', 'hog', 'hound', 'hind', 'heron', 'hare'].map((agentId) => ({ ...scout, agentId }))
    const open = hogs.flatMap((as) => Array.from({ length: 17 }, () => pay.simulate(as, call, never)))
    const ends = Promise.allSettled(open)
    chain.plan = plan
    expect(await send('0.02', { as: { ...scout, agentId: 'ant' } })).toMatchObject({ state: 'paid' })
    const args = asked[0]?.args as JsonObject // what `ask` was given
    expect(await pay.kind.carryOut(max, args)).toContain('The payment was signed')
    gate.resolve()
    const states = (await ends).map(({ status }) => status)
    expect(states.slice(0, 17)).toEqual([...Array<string>(16).fill('fulfilled'), 'rejected'])
    // Each of the others has its own place, and half of what was free.
    for (const at of [1, 2, 3, 4, 5]) expect(states[17 * at]).toBe('fulfilled')
  })

  test('an assessment times out after a minute', async () => {
    const { chain, send, clock, states } = aPaymentsHarness()
    chain.plan = (_from, _order, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      })
    const late = send('0.1').catch((error: unknown) => error)
    await clock.advance(59_999)
    expect(await Promise.race([late, Promise.resolve('it waits')])).toBe('it waits')
    await clock.advance(1)
    expect(await late).toMatchObject({
      code: 'upstream-timeout',
      detail: 'the chain or the price sources did not answer in time',
    })
    expect(states()).toEqual([])
  })

  test('an order of zero, or of less than one base unit of a token, is rejected before planning', async () => {
    const { chain, send } = aPaymentsHarness({ record: { wallet_allowed_contracts: [token] } })
    chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    chain.plan = () => Promise.reject(new Error('it was planned'))
    await expect(send('0')).rejects.toMatchObject({
      code: 'bad-request',
      detail: 'an amount must be greater than 0',
    })
    await expect(send('0.0000001', { token })).rejects.toMatchObject({
      code: 'bad-request',
      detail: 'an amount of this coin or token may have at most 6 digits after the point',
    })
    await expect(send('0.0000001')).rejects.toThrow('it was planned')
  })

  test('a call without coins sends none', async () => {
    const { chain, pay } = aPaymentsHarness({ record: { wallet_allowed_contracts: ['*'] } })
    const sent: bigint[] = []
    const { simulation } = chain
    chain.simulation = (order) => {
      sent.push(order.raw)
      return simulation(order)
    }
    const call = { chain: 'base' as const, contract: friend, function: 'f()', args: [] }
    await pay.simulate(scout, call, never)
    await pay.simulate(scout, { ...call, amount: '0.5' }, never)
    expect(sent).toEqual([0n, 5n * 10n ** 17n])
  })

  test('a payment waits behind sixteen unfinished ones of its address, and continues when one ends', async () => {
    const { chain, send, poll, states } = aPaymentsHarness()
    for (let times = 0; times < 16; times++) await send('0.01')
    await expect(send('0.01')).rejects.toMatchObject({
      code: 'rate-limited',
      detail: `16 payments from ${sender} on base are not confirmed yet, the maximum; wait for one, or cancel one with flotilla wallet cancel PAYMENT`,
      retryAfterSeconds: 15,
    })
    chain.mine(3)
    await poll()
    await send('0.01')
    expect(states()).toHaveLength(17)
  })

  test.each(['transfer', 'simulate', 'read'] as const)(
    '%s is denied without the permission, before any chain is asked',
    async (what) => {
      const { pay, chain, database } = aPaymentsHarness({ record: { can_use_wallet: false } })
      const asked = (): never => {
        throw new Error('the chain was asked')
      }
      Object.assign(chain, { plan: asked, read: asked, token: asked })
      const call = { chain: 'base' as const, contract: friend, function: 'f()', args: [] }
      const orders = {
        transfer: () =>
          pay.transfer(
            scout,
            { chain: 'base', to: friend, amount: '1' },
            { step: onceOnly(database), key: 'k', signal: never },
          ),
        simulate: () => pay.simulate(scout, call, never),
        read: () => pay.read(scout, { ...call, returns: ['uint256'] }, never),
      }
      await expect(orders[what]()).rejects.toMatchObject({
        code: 'denied',
        extra: { field: 'can_use_wallet' },
      })
    },
  )
})

describe('what was paid', () => {
  test('a payment counts until its day ends at midnight UTC', async () => {
    const { send, clock } = aPaymentsHarness({ record: { wallet_spend_limit_daily_usd: 1 } })
    await clock.advance(dayMs - (clock.now() % dayMs))
    await send('0.9')
    await clock.advance(dayMs - 1)
    await expect(send('0.9')).rejects.toMatchObject({ extra: { field: 'wallet_spend_limit_daily_usd' } })
    await clock.advance(1)
    expect(await send('0.9')).toMatchObject({ state: 'paid' })
  })

  test('a payment counts for one hour in the hourly limit', async () => {
    const { send, clock, manage } = aPaymentsHarness({ record: { wallet_rate_limit_per_hour: 1 } })
    await send('0.1')
    await clock.advance(3_600_000)
    await expect(send('0.1')).rejects.toMatchObject({
      extra: { field: 'wallet_rate_limit_per_hour' },
    })
    expect(manage.limits(owner).agents).toMatchObject([{ payments_last_hour: 1 }])
    await clock.advance(1)
    expect(await send('0.1')).toMatchObject({ state: 'paid' })
  })

  test('a payment is in the audit log with everything that was decided', async () => {
    const { send, journal, table } = aPaymentsHarness()
    await send('0.5')
    const [intent] = table.list({ agentId: 'scout', limit: 1 })
    expect(journal).toEqual([
      {
        actor: 'agent:scout',
        action: 'wallet.signed',
        subject: 'pay_1',
        detail: {
          chain: 'base',
          transaction: intent?.txId,
          what: `pay 0.5 ETH (0.5 USD) to ${friend} on base`,
          counted_usd: 0.500001,
          approved_by: null,
          run: null,
        },
      },
      {
        actor: 'system',
        action: 'wallet.sent',
        subject: 'pay_1',
        detail: { agent: 'scout', transaction: intent?.txId, before: 'signed', block: null },
      },
    ])
  })

  test("a payment's nonce follows all that this home has signed, also after an owner resumed the wallet", async () => {
    const { send, chain, table, manage } = aPaymentsHarness()
    // The chain never receives them.
    chain.onBroadcast = () => {}
    await send('0.1')
    await send('0.1')
    table.stop('another program signs', 0)
    table.stop('another reason', 1)
    expect(table.stopped()).toBe('another program signs')
    manage.resume(owner)
    await send('0.1')
    expect(table.list({ agentId: 'scout', limit: 1 })[0]?.place).toEqual({ kind: 'nonce', nonce: 2 })
  })
})

describe('what a person confirmed', () => {
  /** A pending order of two dollars, and the function that confirms it. */
  async function waiting(given: Parameters<typeof aPaymentsHarness>[0] = {}) {
    const harness = aPaymentsHarness({
      ...given,
      record: { wallet_allowed_contracts: [token], ...given.record },
    })
    harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    const call = { chain: 'base' as const, contract: token, function: 'f()', args: [] }
    const moves = (raw: bigint) => {
      harness.chain.simulation = () => ({
        kind: 'moves',
        effects: { changes: [{ asset: token, raw }], payees: [], grants: [] },
      })
    }
    const unknown = () => {
      harness.chain.simulation = () => ({ kind: 'unknown', reason: 'no such method' })
    }
    moves(-2_000_000n)
    const ask = () =>
      harness.pay.execute(scout, call, { step: onceOnly(harness.database), key: 'run_1:1', signal: never })
    const confirm = (person: object = owner) =>
      harness.pay.kind.carryOut(person as never, harness.asked[0]?.args as never)
    return { ...harness, moves, unknown, ask, confirm }
  }

  test('a confirmed payment is signed if the amount of its token rose by at most two percent', async () => {
    const { ask, moves, confirm, table } = await waiting()
    await ask()
    moves(-2_041_000n)
    await expect(confirm()).rejects.toMatchObject({ code: 'conflict' })
    moves(-2_039_000n)
    expect(await confirm()).toContain('is sent')
    expect(table.list({ agentId: 'scout', limit: 1 })).toMatchObject([
      { approvedBy: 'cli', key: 'scout  run_1:1', runId: '' },
    ])
  })

  test('a confirmed payment records the person who approved it, by name if they have one', async () => {
    const { ask, confirm, table } = await waiting()
    await ask()
    await confirm({ ...owner, person: 'ada' })
    expect(table.list({ agentId: 'scout', limit: 1 })).toMatchObject([{ approvedBy: 'ada' }])
  })

  test('a confirmed payment is not signed when what is known about it has changed', async () => {
    const { ask, unknown, moves, confirm, states } = await waiting({
      wallet: { allow_unsimulated: [`base:${token}:f()`] },
    })
    const refused = {
      code: 'conflict',
      detail: expect.stringContaining(
        'the payment can no longer be simulated, or could not be simulated before',
      ),
    }
    await ask()
    unknown()
    await expect(confirm()).rejects.toMatchObject(refused)
    const other = await waiting({ wallet: { allow_unsimulated: [`base:${token}:f()`] } })
    other.unknown()
    await other.ask()
    other.moves(0n)
    await expect(other.confirm()).rejects.toMatchObject(refused)
    expect([...states(), ...other.states()]).toEqual([])
    moves(-1n)
    expect(await confirm()).toContain('is sent')
  })

  test('a confirmed payment is not signed from another address than the one shown', async () => {
    const on = { chain: createFakePayingChain('base'), sender, friend, key: new Uint8Array(32).fill(1) }
    const harness = aPaymentsHarness({ on })
    expect(await harness.send('0.1', { to: stranger })).toMatchObject({ state: 'waiting' })
    on.sender = token
    const { args } = harness.asked[0] ?? {}
    await expect(harness.pay.kind.carryOut(owner as never, args as never)).rejects.toMatchObject({
      code: 'conflict',
      detail: `the payment differs from the one that was shown, so nothing was signed: the payment would leave from ${token}`,
    })
    expect(harness.states()).toEqual([])
  })

  test('a confirmed call is signed if it pays fewer addresses than shown, and not if its contract is no longer listed', async () => {
    const { ask, confirm, chain, record, pay, asked, states } = await waiting()
    const paying = (payees: readonly string[]) => {
      const changes = [{ asset: token, raw: -2_000_000n }]
      chain.simulation = () => ({ kind: 'moves', effects: { changes, payees, grants: [] } })
    }
    paying([stranger, friend, sender])
    await ask()
    expect(pay.kind.ifCutOff).toBe('again')
    paying([friend])
    Object.assign(record, { wallet_allowed_contracts: [] })
    const refused = { code: 'denied', extra: { field: 'wallet_allowed_contracts' } }
    await expect(confirm()).rejects.toMatchObject(refused)
    Object.assign(record, { wallet_allowed_contracts: [token] })
    expect(await confirm()).toContain('is sent')
    expect(pay.kind.wasDone(asked[0]?.args as never)).toContain('is sent')
    expect(states()).toEqual(['sent'])
  })

  test('a confirmed token payment is refused if the token is no longer listed', async () => {
    const harness = aPaymentsHarness({ record: { wallet_allowed_contracts: [token] } })
    harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    await harness.send('0.1', { to: stranger, token })
    Object.assign(harness.record, { wallet_allowed_contracts: [] })
    await expect(
      harness.pay.kind.carryOut(owner as never, harness.asked[0]?.args as never),
    ).rejects.toMatchObject({ code: 'denied', extra: { field: 'wallet_allowed_contracts' } })
  })

  test('a confirmed payment with unknown effects is signed if they are still unknown', async () => {
    const { ask, unknown, confirm, table } = await waiting({
      wallet: { allow_unsimulated: [`base:${token}:f()`] },
    })
    unknown()
    await ask()
    expect(await confirm()).toContain('is sent')
    expect(table.list({ agentId: 'scout', limit: 1 })).toMatchObject([{ effects: null }])
  })

  test('a confirmed payment is refused if the agent may no longer pay, by the field, or if the wallet has stopped', async () => {
    const { ask, confirm, record, table, pay, asked } = await waiting()
    await ask()
    expect(pay.kind.action(asked[0]?.args as never)).toEqual({ do: 'use-wallet', chain: 'base' })
    table.stop('another program signs', 0)
    await expect(confirm()).rejects.toMatchObject({ code: 'wallet-stopped', detail: 'another program signs' })
    Object.assign(record, { can_use_wallet: false })
    await expect(confirm()).rejects.toMatchObject({ code: 'denied', extra: { field: 'can_use_wallet' } })
  })
})

describe('who follows', () => {
  async function sentOne() {
    const harness = aPaymentsHarness()
    await harness.send('0.5')
    return { ...harness, now: () => harness.table.list({ agentId: 'scout', limit: 1 })[0] }
  }

  test('the follower records why a chain cannot be asked, cut to size, and keeps the state', async () => {
    const { chain, poll, now } = await sentOne()
    chain.mine()
    await poll()
    const before = now()
    expect(before).toMatchObject({ state: 'landed', block: 1, note: '' })
    chain.follow = () => Promise.reject(new Problem('upstream-failed', { detail: 'x'.repeat(500) }))
    await poll()
    expect(now()).toMatchObject({ state: 'landed', block: 1, note: 'x'.repeat(300) })
    expect(now()?.polls).toBe((before?.polls ?? 0) + 1)
    chain.follow = () => Promise.reject(new Error('an internal stack trace'))
    await poll()
    expect(now()?.note).toBe('internal error; see the log of the mesh')
    chain.follow = () => Promise.reject(new Problem('upstream-timeout'))
    await poll()
    expect(now()?.note).toBe('The remote server took too long')
  })

  test('the follower drops the block of a reorganization and schedules its next poll', async () => {
    const { chain, poll, now, clock } = await sentOne()
    chain.mine()
    await poll()
    chain.reorganize(1)
    await poll()
    expect(now()).toMatchObject({ state: 'sent', block: null, endedAt: null })
    const { signedAt = 0, nextPollAt = 0 } = now() ?? {}
    expect(nextPollAt - clock.now()).toBe(Math.floor((clock.now() - signedAt) / 10))
    chain.mine(3)
    await poll()
    expect(now()).toMatchObject({ state: 'confirmed', block: 1, endedAt: clock.now() })
  })

  test('the follower keeps a broadcast error until the payment is sent again', async () => {
    const { send, chain, poll, table } = aPaymentsHarness()
    chain.onBroadcast = () => {
      throw new Problem('upstream-failed', { detail: 'the pool is full' })
    }
    await send('0.5')
    const note = () => table.list({ agentId: 'scout', limit: 1 })[0]?.note
    expect(note()).toBe('the pool is full')
    const { follow } = chain
    const noted: unknown[] = []
    chain.onBroadcast = (take) => {
      noted.push(note())
      take()
    }
    await poll()
    expect(noted).toEqual(['the pool is full'])
    expect(note()).toBe('')
    chain.follow = follow
  })

  test('the follower skips a chain of another release and follows all others', async () => {
    const { send, database, poll, chain, table } = aPaymentsHarness()
    await send('0.1')
    database.exec("UPDATE wallet_intents SET chain = 'atlantis'")
    await send('0.1')
    chain.mine(3)
    await poll()
    expect(table.list({ agentId: 'scout', limit: 2 })).toMatchObject([
      { state: 'confirmed' },
      { state: 'sent', note: 'this release does not know atlantis' },
    ])
  })

  test('the follower polls until it is stopped', async () => {
    const { follow, chain, clock, states } = await sentOne()
    const done = new AbortController()
    const running = follow.run(done.signal)
    chain.mine(3)
    for (let polls = 0; polls < 5; polls++) await clock.advance(1000)
    expect(states()).toEqual(['confirmed'])
    done.abort()
    await running
  })

  test('the follower skips a payment that another poll is checking', async () => {
    const { follow, chain, clock } = await sentOne()
    const told = Promise.withResolvers<void>()
    let looks = 0
    const { follow: ask } = chain
    chain.follow = async (...given) => {
      looks += 1
      await told.promise
      return ask(...given)
    }
    await clock.advance(60_000)
    const both = [follow.poll(never), follow.poll(never)]
    expect(looks).toBe(1)
    told.resolve()
    expect(await Promise.all(both)).toEqual([1, 0])
  })

  test('the follower stops the wallet once, for the first reason', async () => {
    const { send, chain, poll, journal, manage } = aPaymentsHarness()
    chain.onBroadcast = () => {}
    await send('0.1')
    await send('0.1')
    chain.sendElsewhere(sender)
    chain.sendElsewhere(sender)
    chain.mine(3)
    await poll()
    expect(journal.filter(({ action }) => action === 'wallet.stopped')).toHaveLength(1)
    expect(manage.limits(owner).stopped).toContain('has the nonce of payment pay_')
    expect(manage.resume(owner)).toMatchObject({
      stopped: null,
      was_stopped: expect.stringContaining('has the nonce of payment pay_') as unknown,
    })
    expect(manage.resume(owner)).toMatchObject({ stopped: null, was_stopped: null })
    expect(journal.filter(({ action }) => action === 'wallet.resumed')).toMatchObject([
      { actor: 'human:cli', subject: 'seed', detail: { reason: expect.stringContaining('has the nonce') } },
    ])
  })

  test('unknown effects of a landed payment do not count as a difference', async () => {
    const { chain, poll, manage, journal } = await sentOne()
    const { follow } = chain
    // A reverted payment did nothing, and the chain reports no effects of the landed one.
    chain.follow = async (...given) => {
      const fate = await follow(...given)
      return fate.kind === 'landed' ? { ...fate, succeeded: false } : fate
    }
    chain.mine(3)
    await poll()
    expect(manage.limits(owner).stopped).toBeNull()
    expect(journal.map(({ action }) => action)).toEqual(['wallet.signed', 'wallet.sent', 'wallet.failed'])
    await poll()
    expect(journal).toHaveLength(3)
  })

  test('the follower ignores news about a superseded signature', async () => {
    const { chain, poll, now, replace, table } = await sentOne()
    const told = Promise.withResolvers<void>()
    const { follow } = chain
    chain.follow = async (...given) => {
      const fate = await follow(...given)
      await told.promise
      return { ...fate, kind: 'replaced' } as const
    }
    const late = poll()
    for (let turns = 0; turns < 50; turns++) await Promise.resolve()
    chain.follow = follow
    const id = now()?.id ?? ''
    await replace(id, 'speed-up')
    told.resolve()
    await late
    expect(table.find(id)).toMatchObject({ state: 'sent', endedAt: null })
  })

  test('the follower aborts its queries on shutdown and writes nothing of them', async () => {
    const { chain, follow, clock, now } = await sentOne()
    const before = now()
    const gone = new AbortController()
    chain.follow = async () => {
      gone.abort(new Error('the mesh ends'))
      throw new Error('cut off')
    }
    await clock.advance(60_000)
    await follow.poll(gone.signal)
    expect(now()).toEqual(before)
    chain.broadcast = async () => {
      throw new Error('cut off')
    }
    if (before === undefined) throw new Error('there is one')
    await expect(follow.send(before, gone.signal)).rejects.toThrow('cut off')
    expect(now()).toEqual(before)
  })

  test('the follower checks foreign signatures with each poll, and stops when it is shut down', async () => {
    const { send, follow, chain, clock } = aPaymentsHarness()
    const asked: number[] = []
    chain.signedElsewhere = async () => {
      asked.push(clock.now())
      return { foreign: null, seen: '1' }
    }
    await send('0.1')
    const done = new AbortController()
    const running = follow.run(done.signal)
    await clock.advance(302_000)
    expect(asked).toHaveLength(2)
    done.abort()
    await running
    await clock.advance(600_000)
    expect(asked).toHaveLength(2)
  })
})
