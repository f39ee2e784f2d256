import { describe, expect, test } from 'vitest'
import { aPaymentsHarness, never, owner, sender } from '../../../testing/src/payments-harness.ts'

/** A chain without nonces on which each address has signed these transactions, oldest first. */
function aHarness(signed: string[]) {
  const harness = aPaymentsHarness()
  const looks: (string | null)[] = []
  harness.chain.signedElsewhere = async (_address, { since, isOwn }) => {
    looks.push(since)
    const seen = String(signed.length)
    const foreign = since === null ? undefined : signed.slice(Number(since)).find((id) => !isOwn(id))
    return { foreign: foreign ?? null, seen }
  }
  return { ...harness, looks, poll: () => harness.watch.poll(never) }
}

describe('who signs for an address', () => {
  test('existing signatures of an address are trusted at first, and checked before each payment', async () => {
    const signed = ['long ago']
    const { send, looks, states, manage } = aHarness(signed)
    await send('0.1')
    const own = await send('0.1')
    signed.push(own.state === 'paid' ? own.payment.tx_id : '')
    await send('0.1')
    expect(looks).toEqual([null, '1', '1'])
    expect(states()).toHaveLength(3)
    signed.push('by somebody else')
    await expect(send('0.1')).rejects.toMatchObject({
      code: 'wallet-stopped',
      detail: `on base, ${sender} signed by somebody else, of which this mesh knows nothing: another program pays from the same seed, or this home is an older copy`,
    })
    expect(states()).toHaveLength(3)
    expect(manage.limits(owner).stopped).toContain('by somebody else')
  })

  test('addresses that have paid are checked every five minutes, and a foreign signature stops the wallet', async () => {
    const signed: string[] = []
    const { send, looks, clock, poll, manage, journal } = aHarness(signed)
    await poll()
    expect(looks).toEqual([])
    await send('0.1')
    signed.push('by somebody else')
    await clock.advance(299_000)
    await poll()
    expect(looks).toHaveLength(1)
    await clock.advance(1000)
    await poll()
    expect(manage.limits(owner).stopped).toContain('signed by somebody else')
    expect(journal.map(({ action }) => action)).toContain('wallet.stopped')
    await clock.advance(600_000)
    await poll()
    expect(looks).toHaveLength(2)
    // Trusted from here on.
    manage.resume(owner)
    await send('0.1')
    expect(looks.at(-1)).toBeNull()
    await clock.advance(300_000)
    await poll()
    expect(manage.limits(owner).stopped).toBeNull()
  })

  test('a failed check of foreign signatures refuses the payment and is retried a few minutes later', async () => {
    const harness = aHarness([])
    await harness.send('0.1')
    const asked: number[] = []
    harness.chain.signedElsewhere = async () => {
      asked.push(harness.clock.now())
      throw new Error('connection refused')
    }
    await expect(harness.send('0.1')).rejects.toThrow('connection refused')
    await harness.clock.advance(300_000)
    await harness.poll()
    await harness.poll()
    expect(asked).toHaveLength(2)
    await harness.clock.advance(300_000)
    await harness.poll()
    expect(asked).toHaveLength(3)
    expect(harness.states()).toHaveLength(1)
  })

  test('a payment is refused while signatures remain to be checked, and the next attempt continues the check', async () => {
    const { send, chain, states } = aHarness([])
    await send('0.1')
    let left = 2
    chain.signedElsewhere = async () => ({
      foreign: null,
      seen: '1',
      ...(left > 0 ? { unchecked: left-- } : {}),
    })
    await expect(send('0.1')).rejects.toMatchObject({
      code: 'rate-limited',
      detail: `at least 2 more transactions of ${sender} on base have to be checked before anything is signed`,
    })
    await expect(send('0.1')).rejects.toMatchObject({ code: 'rate-limited' })
    expect(states()).toHaveLength(1)
    expect(await send('0.1')).toMatchObject({ state: 'paid' })
  })

  test('an unfinished check continues every ten seconds by itself, and a finished one waits five minutes', async () => {
    const { send, chain, clock, poll } = aHarness([])
    await send('0.1')
    const looks: (string | null)[] = []
    chain.signedElsewhere = async (_address, { since }) => {
      looks.push(since)
      return { foreign: null, seen: `${looks.length}`, ...(looks.length < 3 ? { unchecked: 1 } : {}) }
    }
    await clock.advance(300_000)
    for (let times = 0; times < 29; times++) {
      await poll()
      await clock.advance(10_000)
    }
    expect(looks).toEqual(['0', '1', '2'])
  })

  test('resuming a wallet that is not stopped trusts the existing signatures, so a long check ends', async () => {
    const { send, chain, manage, journal, looks } = aHarness([])
    await send('0.1')
    const { signedElsewhere } = chain
    chain.signedElsewhere = async () => ({ foreign: null, seen: 'far', unchecked: 1 })
    await expect(send('0.1')).rejects.toMatchObject({
      code: 'rate-limited',
      repair: expect.stringContaining('flotilla wallet resume'),
    })
    chain.signedElsewhere = signedElsewhere
    expect(manage.resume(owner)).toMatchObject({ was_stopped: null })
    const resumed = () => journal.filter(({ action }) => action === 'wallet.resumed').length
    expect(resumed()).toBe(1)
    manage.resume(owner)
    expect(resumed()).toBe(1)
    expect(await send('0.1')).toMatchObject({ state: 'paid' })
    expect(looks.at(-1)).toBeNull()
  })

  test('a check that began before the owner resumed the wallet has no effect', async () => {
    const { send, chain, clock, poll, manage, table } = aHarness([])
    await send('0.1')
    const told = Promise.withResolvers<void>()
    chain.signedElsewhere = async () => {
      await told.promise
      return { foreign: 'by somebody else', seen: '1' }
    }
    await clock.advance(300_000)
    const late = poll()
    table.stop('another program signs', 0)
    manage.resume(owner)
    told.resolve()
    await late
    expect(table.stopped()).toBeNull()
  })
})
