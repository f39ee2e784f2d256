import { address, createSolanaRpc, lamports } from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Plan } from '../../packages/wallet/src/chain/paying-chain.ts'
import { describeChain } from '../../packages/wallet/src/chain/chain.conformance.ts'
import { describePayingChain } from '../../packages/wallet/src/chain/paying-chain.conformance.ts'
import { createManualClock } from '../../packages/protocol/src/testing/manual-clock.ts'
import { startSolana } from '../support/solana/rpc-server.ts'
import type { SolanaServer } from '../support/solana/rpc-server.ts'
import { aWallet, chainAt } from '../support/solana/solana-wallet.ts'
import type { TestWallet } from '../support/solana/solana-wallet.ts'
import { nativeSvm } from '../support/solana/svm.ts'
import { coinAccount } from '../support/solana/test-chain.ts'
import {
  createTokenIssuer,
  nonTransferable,
  permanentDelegate,
  transferFee,
  transferHook,
} from '../support/solana/token-issuer.ts'
import type { TokenIssuer } from '../support/solana/token-issuer.ts'

const never = new AbortController().signal
const sol = 1_000_000_000n
/** The rent of an account of 165 bytes. */
const tokenRent = 2_039_280n

describe.skipIf(nativeSvm === null)('payments on Solana', () => {
  let server: SolanaServer
  let issuer: TokenIssuer
  beforeAll(async () => {
    server = await startSolana()
    issuer = await createTokenIssuer(server)
  })
  afterAll(() => server?.close())

  const holds = (wallet: TestWallet) => server.chain.svm.account(wallet.bytes)?.lamports ?? 0n

  function aRichWallet(coins = 10n * sol): TestWallet {
    const wallet = aWallet()
    server.chain.svm.airdrop(wallet.bytes, coins)
    return wallet
  }

  const planOf = (
    from: TestWallet,
    to: string,
    amount: bigint | { readonly raw: bigint; readonly asset: string | null },
  ) => {
    const { raw, asset } = typeof amount === 'bigint' ? { raw: amount, asset: null } : amount
    return chainAt(server).plan(from.address, { do: 'transfer', asset, to, raw }, never)
  }

  /** Signs and sends a payment, and adds blocks until it is final. */
  async function pay(plan: Plan, from: TestWallet) {
    const chain = chainAt(server)
    const signed = chain.sign(plan, plan.place, from.key)
    await chain.broadcast(signed, never)
    server.chain.advance(40)
    return chain.follow({ from: from.address, place: plan.place, id: signed.id }, never)
  }

  describeChain('over the JSON-RPC of Solana', async () => {
    const [rich, poor, hasRaw] = [aWallet(), aWallet(), 2n ** 60n + 1n]
    server.chain.svm.put(rich.bytes, coinAccount(hasRaw))
    return {
      chain: chainAt(server),
      rich: rich.address,
      poor: poor.address,
      alsoRich: [],
      hasRaw,
      close: async () => {},
    }
  })

  describePayingChain('over the JSON-RPC of Solana', async () => {
    const [payer, friend] = [aRichWallet(), aRichWallet()]
    return {
      chain: chainAt(server),
      payer: payer.address,
      friend: friend.address,
      key: payer.key,
      mine: async () => server.chain.advance(2),
      bury: async () => server.chain.advance(40),
    }
  })

  it('payments on Solana match those of the official client, which accepts the state of the chain', async () => {
    const rpc = createSolanaRpc(server.url)
    const to = aWallet()
    await issuer.send([
      getTransferSolInstruction({
        source: issuer.signer,
        destination: address(to.address),
        amount: sol,
      }),
    ])
    expect((await rpc.getBalance(address(to.address)).send()).value).toBe(sol)
    await rpc.requestAirdrop(address(to.address), lamports(sol)).send()
    expect(await chainAt(server).balances([to.address], never)).toEqual([2n * sol])
  })

  it('payments on Solana move exactly the planned amounts, at no more than the stated fee', async () => {
    const [from, to] = [aRichWallet(), aWallet()]
    const plan = await planOf(from, to.address, 3n * sol)
    expect(plan).toMatchObject({
      to: to.address,
      place: { kind: 'expiring' },
      simulation: {
        kind: 'moves',
        effects: { changes: [{ asset: null, raw: -3n * sol }], payees: [], grants: [] },
      },
    })
    const chain = chainAt(server)
    const signed = chain.sign(plan, plan.place, from.key)
    const fate = () => chain.follow({ from: from.address, place: plan.place, id: signed.id }, never)
    expect(await fate()).toEqual({ kind: 'missing' })
    await chain.broadcast(signed, never)
    expect(await fate()).toEqual({ kind: 'waiting' })
    server.chain.advance(2)
    expect(await fate()).toMatchObject({ kind: 'landed', succeeded: true, final: false })
    // The same bytes again are accepted, and move no further funds.
    await chain.broadcast(signed, never)
    server.chain.advance(40)
    await chain.broadcast(signed, never)
    expect(await fate()).toMatchObject({ kind: 'landed', succeeded: true, final: true })
    expect(holds(to)).toBe(3n * sol)
    expect(holds(from)).toBe(7n * sol - plan.feeMaxRaw)
    expect(plan.feeMaxRaw).toBeLessThan(110_000n)
  })

  it('two equal payments on Solana are two transactions', async () => {
    const [from, to] = [aRichWallet(), aWallet()]
    const plans = [await planOf(from, to.address, sol), await planOf(from, to.address, sol)]
    expect(new Set(plans.map(({ place }) => JSON.stringify(place))).size).toBe(1)
    const ids = plans.map((plan) => chainAt(server).sign(plan, plan.place, from.key).id)
    expect(new Set(ids).size).toBe(2)
    for (const plan of plans) expect(await pay(plan, from)).toMatchObject({ succeeded: true })
    expect(holds(to)).toBe(2n * sol)
  })

  it.each([6, 9])(
    'a payment of a token with %d decimals creates the missing account of the recipient, at the stated cost',
    async (decimals) => {
      const [from, to] = [aRichWallet(), aWallet()]
      const mint = await issuer.mint({ decimals })
      await issuer.give(mint, from.address, 1_000n)
      expect(await chainAt(server).token(mint, never)).toEqual({ decimals, symbol: mint.slice(0, 6) })
      const first = await planOf(from, to.address, { raw: 400n, asset: mint })
      expect(first.simulation).toMatchObject({
        effects: {
          changes: [
            { asset: null, raw: -tokenRent },
            { asset: mint, raw: -400n },
          ],
        },
      })
      const before = holds(from)
      expect(await pay(first, from)).toMatchObject({ kind: 'landed', succeeded: true, final: true })
      expect(await issuer.holds(mint, to.address)).toBe(400n)
      expect(before - holds(from)).toBe(tokenRent + first.feeMaxRaw)
      const second = await planOf(from, to.address, { raw: 600n, asset: mint })
      expect(second.simulation).toMatchObject({ effects: { changes: [{ asset: mint, raw: -600n }] } })
      await pay(second, from)
      expect(await issuer.holds(mint, to.address)).toBe(1_000n)
      expect(await issuer.holds(mint, from.address)).toBe(0n)
    },
  )

  it('a payment of a token with a transfer fee costs the ordered amount, and the withheld amount is stated', async () => {
    const [from, to] = [aRichWallet(), aWallet()]
    const mint = await issuer.mint({ decimals: 6, extensions: [transferFee(250, 5_000n)] })
    await issuer.give(mint, from.address, 10_000_000n)
    const plan = await planOf(from, to.address, { raw: 100_000n, asset: mint })
    expect(plan).toMatchObject({
      warnings: ['the issuer of the token keeps a fee of 2500 of 100000 base units'],
      simulation: { kind: 'moves' },
    })
    await pay(plan, from)
    expect(await issuer.holds(mint, to.address)).toBe(97_500n)
    await pay(await planOf(from, to.address, { raw: 1_000_000n, asset: mint }), from)
    expect(await issuer.holds(mint, to.address)).toBe(97_500n + 995_000n)
  })

  it('payments of tokens under the control of strangers are refused or marked', async () => {
    const [from, to, stranger] = [aRichWallet(), aWallet(), aWallet()]
    const refused = async (mint: string, words: RegExp) => {
      await issuer.give(mint, from.address, 5n).catch(() => {})
      await expect(planOf(from, to.address, { raw: 1n, asset: mint })).rejects.toMatchObject({
        code: 'bad-request',
        detail: expect.stringMatching(words),
      })
    }
    const hook = transferHook(stranger.address, stranger.address)
    await refused(await issuer.mint({ decimals: 6, extensions: [hook] }), /an unknown program/)
    await refused(await issuer.mint({ decimals: 6, extensions: [nonTransferable] }), /cannot be transferred/)
    await refused(to.address, /there is no token/)
    const extensions = [permanentDelegate(stranger.address), transferHook(stranger.address, null)]
    const mint = await issuer.mint({ decimals: 6, extensions, canFreeze: true })
    await issuer.give(mint, from.address, 5n)
    const plan = await planOf(from, to.address, { raw: 5n, asset: mint })
    expect(plan).toMatchObject({
      simulation: { kind: 'moves' },
      warnings: [/freeze/, /out of any account/].map((words) => expect.stringMatching(words)),
    })
    await pay(plan, from)
    expect(await issuer.holds(mint, to.address)).toBe(5n)
  })

  it('payments to unusable addresses are refused', async () => {
    const [from, to] = [aRichWallet(), aWallet()]
    const mint = await issuer.mint({ decimals: 6 })
    await issuer.give(mint, from.address, 5n)
    await issuer.give(mint, to.address, 5n)
    const account = await issuer.account(mint, to.address)
    for (const [where, words] of [
      [from.address, /the same/],
      [mint, /the address is a token/],
      [account, /no|token/],
      ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', /program/],
      [to.address.replace(/.$/, '0'), /not an address/],
    ] as const) {
      for (const asset of [null, mint]) {
        await expect(planOf(from, where, { raw: 1n, asset: asset }), where).rejects.toMatchObject({
          code: 'bad-request',
          detail: expect.stringMatching(words),
        })
      }
    }
    for (const raw of [0n, -1n, 2n ** 64n]) {
      await expect(planOf(from, to.address, raw)).rejects.toMatchObject({ code: 'bad-request' })
    }
  })

  it('failing payments are predicted, and cost only their fee if they are sent all the same', async () => {
    const [from, to] = [aRichWallet(sol), aWallet()]
    // The whole balance is sent, so nothing is left for the fee.
    expect((await planOf(from, to.address, sol)).simulation).toMatchObject({
      kind: 'fails',
      reason: expect.stringMatching(/^the sender has 1000000000 lamports, and 10000\d+ are needed/),
    })
    expect((await planOf(from, to.address, 1n)).simulation).toMatchObject({
      kind: 'fails',
      reason: expect.stringContaining('less than the minimum balance'),
    })
    const mint = await issuer.mint({ decimals: 6 })
    expect((await planOf(from, to.address, { raw: 1n, asset: mint })).simulation).toMatchObject({
      kind: 'fails',
      reason: 'the sender has nothing of this token',
    })
    await issuer.give(mint, from.address, 5n)
    const plan = await planOf(from, to.address, { raw: 6n, asset: mint })
    expect(plan.simulation).toMatchObject({
      kind: 'fails',
      reason: 'the sender has only 5 base units of this token',
    })
    const before = holds(from)
    expect(await pay(plan, from)).toMatchObject({ kind: 'landed', succeeded: false, final: true })
    expect(before - holds(from)).toBe(plan.feeMaxRaw)
    expect(await issuer.holds(mint, from.address)).toBe(5n)
  })

  it('a final payment reports its effects and every other amount that left with it', async () => {
    const [from, to] = [aRichWallet(), aWallet()]
    const mint = await issuer.mint({ decimals: 6 })
    await issuer.give(mint, from.address, 1_000n)
    const first = await pay(await planOf(from, to.address, { raw: 400n, asset: mint }), from)
    expect(first).toMatchObject({
      effects: {
        changes: [
          { asset: null, raw: -tokenRent },
          { asset: mint, raw: -400n },
        ],
      },
    })
    expect(await pay(await planOf(from, to.address, 3n * sol), from)).toMatchObject({
      effects: { changes: [{ asset: null, raw: -3n * sol }] },
    })
    server.chain.alsoMoves = () => server.chain.svm.put(from.bytes, coinAccount(holds(from) - sol))
    expect(await pay(await planOf(from, to.address, 2n * sol), from)).toMatchObject({
      effects: { changes: [{ asset: null, raw: -3n * sol }] },
    })
  })

  describe('of an address whose key somebody else has', () => {
    const ownsNone = () => false
    /**
     * Returns what the chain adapter sees of the address since `since`, where `isOwn` names the mesh's own
     * transactions.
     */
    async function looked(address: string, since: string | null, isOwn: (id: string) => boolean = ownsNone) {
      const found = await chainAt(server).signedElsewhere(address, { since, isOwn }, never)
      if (found === null) throw new Error('numbers do not tell it here')
      return found
    }

    it('signatures of an address whose key another wallet has are found from then on, once they are final, and nothing that others send', async () => {
      const [from, to] = [aRichWallet(), aWallet()]
      const chain = chainAt(server)
      await pay(await planOf(from, to.address, sol), from)
      const { foreign, seen } = await looked(from.address, null)
      expect(foreign).toBeNull()
      const sender = aRichWallet()
      await pay(await planOf(sender, from.address, sol), sender)
      const after = await looked(from.address, seen)
      expect(after).toMatchObject({ foreign: null, seen: expect.not.stringMatching(seen) })
      const plan = await planOf(from, to.address, sol)
      const signed = chain.sign(plan, plan.place, from.key)
      await chain.broadcast(signed, never)
      expect(await looked(from.address, after.seen)).toEqual({ foreign: null, seen: after.seen })
      server.chain.advance(40)
      expect(await looked(from.address, after.seen, (id) => id === signed.id)).toMatchObject({
        foreign: null,
      })
      expect(await looked(from.address, after.seen)).toMatchObject({ foreign: signed.id })
      // A server that does not know the last seen signature returns the whole history again.
      const all = server.chain.withPartOf(from.address).map((signature) => ({ signature, slot: 1 }))
      server.disturb('getSignaturesForAddress', { kind: 'says', result: all })
      expect(await looked(from.address, after.seen)).toMatchObject({ foreign: null })
      server.disturb('getSignaturesForAddress', null)
    })

    it('all transactions of a shared key are checked in turn, however many strangers send it something', async () => {
      const [from, sender] = [aRichWallet(), aRichWallet()]
      let { seen } = await looked(from.address, null)
      await pay(await planOf(from, sender.address, sol), from)
      for (let times = 0; times < 30; times++) {
        const plan = await planOf(sender, from.address, 1_000_000n)
        await chainAt(server).broadcast(chainAt(server).sign(plan, plan.place, sender.key), never)
      }
      server.chain.advance(40)
      const asked = server.asked.length
      const first = await looked(from.address, seen)
      expect(first.foreign).toBeNull()
      expect(server.asked.slice(asked).filter((method) => method === 'getTransaction')).toHaveLength(25)
      seen = first.seen
      expect(await looked(from.address, seen)).toMatchObject({ foreign: expect.any(String) })
      server.disturb('getTransaction', { kind: 'says', result: null })
      await expect(looked(from.address, seen)).rejects.toMatchObject({
        detail: expect.stringContaining('lists a transaction that it does not have'),
      })
      server.disturb('getTransaction', null)
    })
  })

  it('payments on Solana hold no place that another could take: they land or expire', async () => {
    const from = aRichWallet()
    const { place } = await planOf(from, aWallet().address, sol)
    const sent = { from: from.address, bytes: '', place }
    await expect(chainAt(server).replacing(sent, 'cancel', never)).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  describe('that never landed', () => {
    it('payments on Solana that never landed have expired when that is certain, and not before', async () => {
      const [from, to] = [aRichWallet(), aWallet()]
      const chain = chainAt(server)
      const plan = await planOf(from, to.address, sol)
      const signed = chain.sign(plan, plan.place, from.key)
      const fate = () => chain.follow({ from: from.address, place: plan.place, id: signed.id }, never)
      // The newest block is past the last valid height, but is not final yet.
      server.chain.advance(160)
      expect(await fate()).toEqual({ kind: 'missing' })
      server.chain.advance(40)
      const { oldestSlot } = server.chain
      server.chain.oldestSlot = server.chain.slot() - 10
      expect(await fate()).toEqual({ kind: 'missing' })
      server.chain.oldestSlot = oldestSlot
      server.disturb('getSignatureStatuses', {
        kind: 'says',
        result: { context: { slot: server.chain.slot() - 100 }, value: [null] },
      })
      expect(await fate()).toEqual({ kind: 'missing' })
      server.disturb('getSignatureStatuses', null)
      expect(await fate()).toEqual({ kind: 'expired' })
      await chain.broadcast(signed, never)
      expect(await fate()).toEqual({ kind: 'expired' })
      expect([holds(from), holds(to)]).toEqual([10n * sol, 0n])
    })

    it('payments on Solana that never landed are signed anew at another place, with nothing else changed', async () => {
      const [from, to] = [aRichWallet(), aWallet()]
      const chain = chainAt(server)
      const plan = await planOf(from, to.address, sol)
      server.chain.advance(200)
      const { place } = await planOf(from, to.address, sol)
      const signed = chain.sign(plan, place, from.key)
      await chain.broadcast(signed, never)
      expect(await chain.follow({ from: from.address, place, id: signed.id }, never)).toEqual({
        kind: 'waiting',
      })
      expect(holds(to)).toBe(sol)
    })
  })

  describe('over a far end', () => {
    it('payments over an RPC of another chain are neither planned nor sent', async () => {
      const main = await startSolana('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d')
      const from = aWallet()
      const order = { do: 'transfer', asset: null, to: aWallet().address, raw: 1n } as const
      const chain = chainAt(main)
      await expect(chain.plan(from.address, order, never)).rejects.toMatchObject({
        code: 'upstream-failed',
        detail: expect.stringContaining('the genesis hash 5eykt4'),
      })
      await expect(chain.broadcast({ id: 'a', bytes: 'b' }, never)).rejects.toMatchObject({
        code: 'upstream-failed',
      })
      expect(new Set(main.asked)).toEqual(new Set(['getGenesisHash']))
      await main.close()
    })

    it('payments that the RPC reports as failed are tracked until they are final, once', async () => {
      const [from, to] = [aRichWallet(), aWallet()]
      const chain = chainAt(server)
      const plan = await planOf(from, to.address, sol)
      const signed = chain.sign(plan, plan.place, from.key)
      server.disturb('sendTransaction', { kind: 'denies' })
      for (let times = 0; times < 2; times += 1) {
        await expect(chain.broadcast(signed, never)).rejects.toMatchObject({ code: 'upstream-failed' })
      }
      server.disturb('sendTransaction', null)
      server.chain.advance(40)
      expect(
        await chain.follow({ from: from.address, place: plan.place, id: signed.id }, never),
      ).toMatchObject({
        kind: 'landed',
        succeeded: true,
      })
      expect(holds(to)).toBe(sol)
    })

    it('an RPC answer that names another transaction does not count as sent', async () => {
      const from = aRichWallet()
      const chain = chainAt(server)
      const plan = await planOf(from, aWallet().address, sol)
      const other = chain.sign(await planOf(from, aWallet().address, sol), plan.place, from.key)
      server.disturb('sendTransaction', { kind: 'says', result: other.id })
      const signed = chain.sign(plan, plan.place, from.key)
      await expect(chain.broadcast(signed, never)).rejects.toMatchObject({
        detail: expect.stringContaining('another transaction'),
      })
      server.disturb('sendTransaction', null)
    })

    it.each([
      ['getLatestBlockhash', { kind: 'answers-twice' }],
      ['getMultipleAccounts', { kind: 'says', result: { context: { slot: 1 }, value: [] } }],
      [
        'getLatestBlockhash',
        {
          kind: 'says',
          result: { context: { slot: 1 }, value: { blockhash: 'x', lastValidBlockHeight: 5 } },
        },
      ],
      ['simulateTransaction', { kind: 'refuses' }],
      ['getGenesisHash', { kind: 'says', result: 'ok' }],
    ] as const)(
      'payments on Solana over a far end that answers %s amiss are not planned',
      async (method, disturbance) => {
        const from = aRichWallet()
        server.disturb(method, disturbance)
        await expect(planOf(from, aWallet().address, sol)).rejects.toMatchObject({ code: 'upstream-failed' })
        server.disturb(method, null)
      },
    )

    it('payments without account changes in the simulation have an unknown effect', async () => {
      const from = aRichWallet()
      server.disturb('simulateTransaction', {
        kind: 'says',
        result: { context: { slot: 1 }, value: { err: null, logs: [], accounts: null } },
      })
      expect((await planOf(from, aWallet().address, sol)).simulation).toMatchObject({ kind: 'unknown' })
      server.disturb('simulateTransaction', null)
    })

    it('an RPC without an answer is awaited for ten seconds', async () => {
      const clock = createManualClock()
      const from = aRichWallet()
      const plan = await planOf(from, aWallet().address, sol)
      const chain = chainAt(server, clock)
      server.disturb('sendTransaction', { kind: 'hangs' })
      const heard = server.asked.length
      const sent = chain.broadcast(chain.sign(plan, plan.place, from.key), never)
      const told = sent.catch((error: unknown) => error)
      await vi.waitUntil(() => server.asked.slice(heard).includes('sendTransaction'))
      await clock.advance(10_000)
      expect(await told).toMatchObject({ code: 'upstream-timeout' })
      server.disturb('sendTransaction', null)
    })
  })
})
