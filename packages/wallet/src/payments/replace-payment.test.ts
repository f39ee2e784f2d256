import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import { describe, expect, test } from 'vitest'
import { aPaymentsHarness, owner, scout, sender } from '../../../testing/src/payments-harness.ts'

describe('a payment that does not land', () => {
  /** A payment that stays in the pool of its chain, counted at 0.500001 dollars. */
  async function stuck(given: Parameters<typeof aPaymentsHarness>[0] = {}) {
    const harness = aPaymentsHarness(given)
    const answer = await harness.send('0.5')
    const { id, tx_id: first } = answer.state === 'paid' ? answer.payment : { id: '', tx_id: '' }
    const now = () => harness.table.find(id)
    return { ...harness, id, first, now }
  }

  test('a stuck payment is signed again with its nonce and a higher fee, which counts, and lands once', async () => {
    const { replace, id, first, chain, poll, now, journal, manage } = await stuck()
    const again = await replace(id, 'speed-up')
    // The fee doubles, from a millionth of a dollar.
    expect(again).toMatchObject({ id, state: 'sent', counted_usd: 0.500002 })
    expect(again.tx_id).not.toBe(first)
    expect(chain.received).toEqual([first, again.tx_id])
    chain.mine(3)
    await poll()
    expect(now()).toMatchObject({ state: 'confirmed', txId: again.tx_id, chargedMicroUsd: 500_002 })
    expect(manage.limits(owner)).toMatchObject({ stopped: null, open: 0 })
    expect(journal.find(({ action }) => action === 'wallet.sped-up')?.detail).toMatchObject({
      agent: 'scout',
      transaction: again.tx_id,
      instead_of: first,
      fee_usd: 0.000002,
      counted_usd: 0.500002,
    })
  })

  test('a replaced payment counts once if the earlier signature lands', async () => {
    const { replace, id, first, chain, poll, now, table } = await stuck()
    chain.onBroadcast = () => {
      throw new Error('rejected')
    }
    const again = await replace(id, 'speed-up')
    expect(again).toMatchObject({ state: 'sent', note: expect.stringContaining('internal error') })
    chain.mine(1)
    await poll()
    // Identified by its newest signature until a block is final.
    expect(now()).toMatchObject({ state: 'landed', txId: again.tx_id })
    chain.mine(2)
    await poll()
    expect(now()).toMatchObject({ state: 'confirmed', txId: first, givenBackAt: null })
    expect(table.list({ agentId: 'scout', limit: 9 })).toHaveLength(1)
  })

  test('only the newest signature is sent, also after a restart before its broadcast', async () => {
    const { replace, id, first, chain, poll, now } = await stuck()
    chain.onBroadcast = () => {}
    const again = await replace(id, 'speed-up')
    chain.onBroadcast = (take) => take()
    await poll()
    expect(chain.received).toEqual([first, again.tx_id, again.tx_id])
    chain.mine(3)
    await poll()
    expect(now()).toMatchObject({ state: 'confirmed', txId: again.tx_id })
  })

  test('a payment is cancelled by an empty transaction, and counts for its fee', async () => {
    const { replace, id, chain, poll, now, manage, journal } = await stuck()
    const again = await replace(id, 'cancel')
    expect(again).toMatchObject({ counted_usd: 0.500002, state: 'sent' })
    chain.mine(1)
    await poll()
    expect(now()).toMatchObject({
      state: 'sent',
      note: `transaction ${again.tx_id} replaced the payment, in block 1`,
    })
    chain.mine(2)
    await poll()
    expect(now()).toMatchObject({
      state: 'cancelled',
      chargedMicroUsd: 2,
      givenBackAt: null,
      note: `transaction ${again.tx_id} replaced the payment`,
    })
    expect(manage.limits(owner)).toMatchObject({ stopped: null, agents: [{ spent_today_usd: 0.000002 }] })
    expect(journal.map(({ action }) => action)).toContain('wallet.cancelling')
  })

  test('a payment that lands although its owner cancelled it stays paid and counts', async () => {
    const { replace, id, chain, poll, now, first } = await stuck()
    chain.onBroadcast = () => {
      throw new Error('rejected')
    }
    await replace(id, 'cancel')
    chain.mine(3)
    await poll()
    expect(now()).toMatchObject({ state: 'confirmed', txId: first, chargedMicroUsd: 500_002 })
  })

  test('a payment is replaced only when a foreign transaction used its nonce', async () => {
    const { replace, id, chain, poll, now, manage } = await stuck()
    await replace(id, 'speed-up')
    chain.sendElsewhere(sender)
    chain.mine(3)
    await poll()
    expect(now()).toMatchObject({ state: 'replaced', givenBackAt: expect.any(Number) })
    expect(manage.limits(owner).stopped).toContain('a transaction that this mesh did not sign')
  })

  test('a payment can be signed again only a limited number of times and up to a limited fee', async () => {
    const { replace, id } = await stuck()
    // 2, 4 and 8 times the first fee; the next would be 16 times.
    for (let times = 0; times < 3; times++) await replace(id, 'speed-up')
    await expect(replace(id, 'speed-up')).rejects.toMatchObject({
      code: 'conflict',
      detail: `the fee would be more than ${paymentLimits.replacedFeeTimesMax} times the first fee of the payment`,
    })
    const { chain, ...other } = await stuck()
    const { replacing } = chain
    chain.replacing = async (...given) => {
      const { plan } = await replacing(...given)
      return { plan: { ...plan, feeMaxRaw: 11n }, feeBeforeRaw: 10n }
    }
    for (let times = 0; times < paymentLimits.replacementsMax; times++) {
      await other.replace(other.id, 'cancel')
    }
    await expect(other.replace(other.id, 'cancel')).rejects.toMatchObject({
      code: 'conflict',
      detail: `the payment ${other.id} was already signed 6 times, the maximum`,
    })
  })

  test('a payment that is being cancelled cannot be sped up', async () => {
    const { replace, id } = await stuck()
    await replace(id, 'cancel')
    await expect(replace(id, 'speed-up')).rejects.toMatchObject({
      detail: `the payment ${id} is already being cancelled`,
    })
    await expect(replace(id, 'cancel')).resolves.toMatchObject({ counted_usd: 0.500004 })
  })

  test('a payment cannot be replaced when it is in a block, does not exist, or the wallet is stopped', async () => {
    const { replace, id, chain, poll, table, manage } = await stuck()
    await expect(replace('pay_none', 'cancel')).rejects.toMatchObject({
      code: 'not-found',
      detail: 'there is no payment pay_none',
    })
    table.stop('another program signs', 0)
    await expect(replace(id, 'cancel')).rejects.toMatchObject({ code: 'wallet-stopped' })
    manage.resume(owner)
    chain.mine()
    await poll()
    await expect(replace(id, 'cancel')).rejects.toMatchObject({
      code: 'conflict',
      detail: `the payment ${id} is landed, so it can no longer be replaced`,
    })
    chain.mine(3)
    await poll()
    await expect(replace(id, 'speed-up')).rejects.toMatchObject({
      detail: expect.stringContaining('confirmed'),
    })
    expect(chain.received).toHaveLength(1)
  })

  test('a payment on a chain that this release does not know cannot be replaced', async () => {
    const { replace, id, database } = await stuck()
    database.exec("UPDATE wallet_intents SET chain = 'atlantis'")
    await expect(replace(id, 'cancel')).rejects.toMatchObject({
      code: 'not-found',
      detail: `there is no payment ${id}`,
    })
  })

  test('only an owner can replace a payment, and only one replacement runs at a time', async () => {
    const { replace, id, chain } = await stuck()
    await expect(replace(id, 'cancel', scout)).rejects.toMatchObject({ code: 'denied' })
    await expect(
      replace(id, 'cancel', { kind: 'human', channel: 'cli', role: 'member' }),
    ).rejects.toMatchObject({ code: 'denied' })
    const both = await Promise.allSettled([replace(id, 'speed-up'), replace(id, 'speed-up')])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(both).toContainEqual({
      status: 'rejected',
      reason: expect.objectContaining({
        code: 'conflict',
        detail: `the payment ${id} was signed again by another request`,
      }),
    })
    expect(chain.received).toHaveLength(2)
  })
})
