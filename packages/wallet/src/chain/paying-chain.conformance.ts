import { describe, expect, test } from 'vitest'
import type { Fate, PayingChain, Place } from './paying-chain.ts'

/**
 * A chain on which `payer` has coins, `key` is its key and `friend` another address; the test decides when blocks
 * are mined.
 */
export interface PayingChainUnderTest {
  readonly chain: PayingChain
  readonly payer: string
  readonly friend: string
  readonly key: Uint8Array
  /** Mines the pool into a block. */
  mine(): Promise<void>
  /** Mines empty blocks until earlier ones are final. */
  bury(): Promise<void>
}

const never = new AbortController().signal

/** The contract that every paying chain adapter must satisfy; `paying-chain.ts` describes it. */
export function describePayingChain(name: string, make: () => Promise<PayingChainUnderTest>): void {
  describe(`${name} as a chain on which is paid`, () => {
    const pays = { do: 'transfer', asset: null } as const

    test(`${name} as a chain on which is paid plans a payment with its fee and place without changing anything`, async () => {
      const { chain, payer, friend } = await make()
      const plan = await chain.plan(payer, { ...pays, to: friend, raw: 7n }, never)
      expect(plan).toMatchObject({ from: payer, to: friend })
      expect(plan.feeMaxRaw > 0n).toBe(true)
      expect(plan.simulation).toMatchObject({
        kind: 'moves',
        effects: { changes: [{ asset: null, raw: -7n }], grants: [] },
      })
      const { payees } = plan.simulation.kind === 'moves' ? plan.simulation.effects : { payees: [''] }
      expect(payees.filter((one) => one.toLowerCase() !== friend.toLowerCase())).toEqual([])
      expect((await chain.plan(payer, { ...pays, to: friend, raw: 7n }, never)).place).toEqual(plan.place)
    })

    test(`${name} as a chain on which is paid signs without a network call: the same plan, place and key give the same bytes`, async () => {
      const { chain, payer, friend, key } = await make()
      const plan = await chain.plan(payer, { ...pays, to: friend, raw: 7n }, never)
      const signed = chain.sign(plan, plan.place, key)
      expect(chain.sign(plan, plan.place, key)).toEqual(signed)
      expect(JSON.stringify({ plan: plan.unsigned, signed })).not.toContain(Buffer.from(key).toString('hex'))
    })

    test(`${name} as a chain on which is paid accepts the same bytes any number of times and lands them once`, async () => {
      const { chain, payer, friend, key, mine, bury } = await make()
      const plan = await chain.plan(payer, { ...pays, to: friend, raw: 9n }, never)
      const signed = chain.sign(plan, plan.place, key)
      const fate = (place: Place = plan.place): Promise<Fate> =>
        chain.follow({ from: payer, place, id: signed.id }, never)
      expect(await fate()).toEqual({ kind: 'missing' })
      await chain.broadcast(signed, never)
      await chain.broadcast(signed, never)
      expect(await fate()).toEqual({ kind: 'waiting' })
      await mine()
      expect(await fate()).toMatchObject({ kind: 'landed', succeeded: true, final: false })
      await bury()
      expect(await fate()).toMatchObject({ kind: 'landed', succeeded: true, final: true })
    })

    test(`${name} as a chain on which is paid rejects invalid orders before anything is signed`, async () => {
      const { chain, payer, friend } = await make()
      const nonsense = { code: 'bad-request' }
      for (const to of ['', 'nowhere', `${friend}1`]) {
        await expect(chain.plan(payer, { ...pays, to, raw: 1n }, never), to).rejects.toMatchObject(nonsense)
        await expect(chain.token(to, never), to).rejects.toMatchObject(nonsense)
        await expect(chain.held(to, payer, never), to).rejects.toMatchObject(nonsense)
      }
      // A plain address that is not a token.
      await expect(chain.token(friend, never)).rejects.toMatchObject(nonsense)
      await expect(chain.held(friend, payer, never)).rejects.toMatchObject(nonsense)
    })

    test('distinguishes two equal payments and lands both', async () => {
      const { chain, payer, friend, key, mine } = await make()
      const ids: string[] = []
      for (let count = 0; count < 2; count++) {
        const plan = await chain.plan(payer, { ...pays, to: friend, raw: 11n }, never)
        const signed = chain.sign(plan, plan.place, key)
        ids.push(signed.id)
        await chain.broadcast(signed, never)
        await mine()
        expect(await chain.follow({ from: payer, place: plan.place, id: signed.id }, never)).toMatchObject({
          kind: 'landed',
          succeeded: true,
        })
      }
      expect(new Set(ids).size).toBe(2)
    })

    test(`${name} as a chain on which is paid rejects with the reason of a signal that is aborted`, async () => {
      const { chain, payer, friend } = await make()
      const reason = new Error('the caller has gone')
      const gone = AbortSignal.abort(reason)
      await expect(chain.plan(payer, { ...pays, to: friend, raw: 1n }, gone)).rejects.toBe(reason)
      await expect(chain.token(friend, gone)).rejects.toBe(reason)
      await expect(chain.held(friend, payer, gone)).rejects.toBe(reason)
      const { place } = await chain.plan(payer, { ...pays, to: friend, raw: 1n }, never)
      await expect(chain.follow({ from: payer, place, id: friend }, gone)).rejects.toBe(reason)
      await expect(chain.broadcast({ id: friend, bytes: '0x' }, gone)).rejects.toBe(reason)
    })
  })
}
