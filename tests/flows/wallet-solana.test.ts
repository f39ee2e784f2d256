import { solanaChains, walletApi, walletEndpoints } from '@flotilla/protocol/wallet-api'
import { walletPaymentApi, walletPaymentEndpoints } from '@flotilla/protocol/wallet-payments-api'
import { base58 } from '@scure/base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { solanaKey } from '../../packages/wallet/src/seed/derive-keys.ts'
import { seedOf } from '../../packages/wallet/src/seed/make-seed.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startSolana } from '../support/solana/rpc-server.ts'
import type { SolanaServer } from '../support/solana/rpc-server.ts'
import { aWallet, chainAt } from '../support/solana/solana-wallet.ts'
import type { TestWallet } from '../support/solana/solana-wallet.ts'
import { nativeSvm } from '../support/solana/svm.ts'
import { coinAccount } from '../support/solana/test-chain.ts'
import { createTokenIssuer, permanentDelegate, transferFee } from '../support/solana/token-issuer.ts'
import type { TokenIssuer } from '../support/solana/token-issuer.ts'
import { startPriceServer } from '../support/wallet-fakes.ts'
import type { PriceServer } from '../support/wallet-fakes.ts'

const never = new AbortController().signal
/** The address at index 1 of the seed phrase `test ... junk`, as common wallets derive it. */
const scouts = 'AqynRZwvVqUPRwRJXvm6odUb3t93fDjnWe3p6BeuUFxD'

describe.skipIf(nativeSvm === null)('a fleet beside Solana', () => {
  let server: SolanaServer
  let mesh: MeshProcess
  let issuer: TokenIssuer
  let prices: PriceServer
  const shop = aWallet()

  beforeAll(async () => {
    server = await startSolana(solanaChains.solana.genesis)
    issuer = await createTokenIssuer(server)
    prices = await startPriceServer({ symbol: 'SOL', name: 'solana' })
    server.chain.svm.airdrop(base58.decode(scouts), 12_345_000_000_001n)
    mesh = await startMesh({
      settings: {
        egress: { allowed_private: [server.place, prices.place] },
        wallet: {
          solana_derivation: 'slip-10',
          chains: {
            solana: { rpc_url: server.url },
            // The endpoint serves mainnet instead.
            'solana-devnet': { rpc_credential: 'rpc_of_devnet' },
          },
          price_sources: ['coinbase', 'kraken', 'coingecko', 'defillama'].map((kind) => ({
            kind,
            url: prices.url,
          })),
          spend_limit_per_tx_usd: 100,
          approve_above_usd: 50,
          known_addresses: { shop: shop.address },
        },
      },
      environment: { FLOTILLA_SYSTEM_RPC_OF_DEVNET: `${server.url}/?key=key-of-devnet` },
    })
    await mesh.createWorker('scout')
    await mesh.call(walletEndpoints.walletImport, { body: { mnemonic: `${'test '.repeat(11)}junk` } })
    await mesh.call(walletEndpoints.walletAddressGive, { body: { agent_id: 'scout' } })
  })
  afterAll(async () => {
    await mesh?.stop()
    await prices?.close()
    await server?.close()
  })

  it('the owner sees the balance of each Solana address, of the configured chain only', async () => {
    const reply = await mesh.call(walletEndpoints.walletBalances, { query: { agent_id: 'scout' } })
    const { balances } = walletApi.walletBalances.response.parse(reply.json())
    expect(
      balances.map(({ chain, address, raw, amount, problem }) => [chain, address, raw, amount, problem]),
    ).toEqual([
      ['solana', scouts, '12345000000001', '12345.000000001', null],
      [
        'solana-devnet',
        scouts,
        null,
        null,
        `the RPC endpoint of solana-devnet failed: the endpoint serves a chain with the genesis hash ${solanaChains.solana.genesis}, but solana-devnet has ${solanaChains['solana-devnet'].genesis}`,
      ],
    ])
    expect(mesh.log()).not.toContain('key-of')
    const told = await flotilla({ url: mesh.url, home: mesh.home }, 'wallet', 'balances')
    expect(told, told.err).toMatchObject({ code: 0 })
    expect(told.out).toMatch(/solana +you +0 +\w{32,44} +0 SOL/)
    expect(told.out).toMatch(new RegExp(`solana +scout +1 +${scouts} +12345\\.000000001 SOL`))
  })

  const told = async (tool: string, input: Readonly<Record<string, string>>) =>
    JSON.stringify((await mesh.invoke('scout', tool, input)).outcome)
  const history = async () => {
    const reply = await mesh.call(walletPaymentEndpoints.walletPayments)
    return walletPaymentApi.walletPayments.response.parse(reply.json()).payments
  }
  const stopped = async () =>
    walletPaymentApi.walletLimitsNow.response.parse(
      (await mesh.call(walletPaymentEndpoints.walletLimitsNow)).json(),
    ).stopped
  const held = (wallet: TestWallet) => server.chain.svm.account(wallet.bytes)?.lamports ?? 0n

  it('an agent sees only its own Solana address, if a person allowed it', async () => {
    expect(await told('wallet_balance', { chain: 'solana' })).toContain('can_use_wallet')
    await editPermissions(mesh, 'scout', { can_use_wallet: true, wallet_allowed_chains: ['solana'] })
    expect(await told('wallet_address', { chain: 'solana' })).toContain(scouts)
    expect(await told('wallet_balance', { chain: 'solana' })).toContain('12345.000000001')
    expect(await told('wallet_balance', { chain: 'solana-devnet' })).toContain('wallet_allowed_chains')
  })

  it('a fleet beside Solana lets it pay a coin and a token within its limits, once each, and follows both to where they stay', async () => {
    const token = await issuer.mint({ decimals: 6 })
    await issuer.give(token, scouts, 7_500_000n)
    expect(await told('wallet_balance', { chain: 'solana', token })).toContain('wallet_allowed_contracts')
    const pay = { chain: 'solana', to: shop.address }
    expect(await told('wallet_transfer', { ...pay, amount: '2.25' })).toContain('paid')
    expect(await told('wallet_transfer', { ...pay, token, amount: '1.5' })).toContain(
      'wallet_allowed_contracts',
    )
    await editPermissions(mesh, 'scout', {
      can_use_wallet: true,
      wallet_allowed_chains: ['solana'],
      wallet_allowed_contracts: [token],
    })
    expect(await told('wallet_balance', { chain: 'solana', token })).toContain('7.5')
    expect(await told('wallet_transfer', { ...pay, token, amount: '1.5' })).toContain('paid')
    expect(await told('wallet_transfer', { ...pay, amount: '101' })).toContain(
      'wallet_spend_limit_per_tx_usd',
    )
    // The signed bytes are stored, so the next mesh process follows the payment.
    await mesh.kill9()
    server.chain.advance(40)
    await mesh.restart()
    await eventually(
      'both are confirmed',
      async () => (await history()).every(({ state }) => state === 'confirmed') || null,
    )
    expect(held(shop)).toBe(2_250_000_000n)
    expect(await issuer.holds(token, shop.address)).toBe(1_500_000n)
    expect(await issuer.holds(token, scouts)).toBe(6_000_000n)
  })

  it('a fleet beside Solana shows a person what the issuer of a token can do, before a new recipient is paid with it', async () => {
    const extensions = [permanentDelegate(issuer.signer.address), transferFee(100, 10n ** 9n)]
    const token = await issuer.mint({ decimals: 6, extensions })
    await issuer.give(token, scouts, 5_000_000n)
    await editPermissions(mesh, 'scout', {
      can_use_wallet: true,
      wallet_allowed_chains: ['solana'],
      wallet_allowed_contracts: [token],
    })
    const stranger = aWallet()
    const asked = await told('wallet_transfer', { chain: 'solana', to: stranger.address, token, amount: '2' })
    expect(asked).toContain('waiting')
    const pending = await flotilla({ url: mesh.url, home: mesh.home }, 'pending')
    expect(pending.out).toContain('the issuer of the token can take it out of any account at any time')
    expect(pending.out).toContain('the issuer of the token keeps a fee of 20000 of 2000000 base units')
    // The rent that the recipient's new account for the token costs.
    expect(pending.out).toMatch(/0\.002\d+ SOL/)
    expect(await issuer.holds(token, stranger.address)).toBe(0n)
  })

  it('a fleet beside Solana gives back what was charged for a payment that never landed', async () => {
    server.disturb('sendTransaction', { kind: 'refuses' })
    expect(await told('wallet_transfer', { chain: 'solana', to: shop.address, amount: '3' })).toContain(
      'paid',
    )
    server.chain.advance(200)
    await eventually('it is known', async () => (await history())[0]?.state === 'expired' || null)
    server.disturb('sendTransaction', null)
    expect((await history())[0]).toMatchObject({ given_back: true })
    expect(held(shop)).toBe(2_250_000_000n)
  })

  it('a fleet beside Solana stops where more left with a payment than its simulation showed', async () => {
    server.chain.alsoMoves = () => {
      const has = server.chain.svm.account(base58.decode(scouts))?.lamports ?? 0n
      server.chain.svm.put(base58.decode(scouts), coinAccount(has - 1_000_000_000n))
    }
    expect(await told('wallet_transfer', { chain: 'solana', to: shop.address, amount: '1' })).toContain(
      'paid',
    )
    server.chain.advance(40)
    const reason = await eventually('it stops', stopped)
    expect(reason).toMatch(/did more than its simulation showed: 2000000000 base units of the coin left/)
    await mesh.call(walletPaymentEndpoints.walletResume)
  })

  it('a fleet beside Solana stops before it pays beside another program on the same seed', async () => {
    // The first look at an address accepts the transactions that it already has.
    expect(await told('wallet_transfer', { chain: 'solana', to: shop.address, amount: '1' })).toContain(
      'paid',
    )
    server.chain.advance(40)
    await eventually('it is confirmed', async () => (await history())[0]?.state === 'confirmed' || null)
    const count = (await history()).length
    const chain = chainAt(server, systemClock, 'solana')
    const order = { do: 'transfer', asset: null, to: shop.address, raw: 7_000_000n } as const
    const plan = await chain.plan(scouts, order, never)
    const key = solanaKey(await seedOf(`${'test '.repeat(11)}junk`), 1, 'slip-10')
    await chain.broadcast(chain.sign(plan, plan.place, key), never)
    server.chain.advance(40)
    const refused = await told('wallet_transfer', { chain: 'solana', to: shop.address, amount: '1' })
    expect(refused).toContain('another program pays from the same seed')
    expect(await history()).toHaveLength(count)
    expect(await stopped()).toContain(scouts)
  })
})
