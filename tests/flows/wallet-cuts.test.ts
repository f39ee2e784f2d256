import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { walletAgentEndpoints } from '@flotilla/protocol/wallet-agent-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { solanaChains } from '@flotilla/protocol/wallet-api'
import { base58 } from '@scure/base'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Composed } from '../../packages/mesh/src/app/compose.ts'
import { createManageWallet } from '../../packages/wallet/src/manage-wallet.ts'
import { createSeedFiles } from '../../packages/wallet/src/seed/seed-files.ts'
import { createSeedStore } from '../../packages/wallet/src/seed/seed-store.ts'
import { createWalletTable } from '../../packages/wallet/src/wallet-table.ts'
import { anvilProgram, startAnvil } from '../support/anvil.ts'
import { aPowerCutHome, owner } from '../support/power-cut-home.ts'
import type { PowerCutHome } from '../support/power-cut-home.ts'
import { eventually } from '../support/eventually.ts'
import { patient } from '../support/patience.ts'
import { stretchDeadlines } from '../support/patient-deadlines.ts'
import { runUntilCut, passOutside } from '../support/power-cut.ts'
import { startSolana } from '../support/solana/rpc-server.ts'
import { aWallet } from '../support/solana/solana-wallet.ts'
import { nativeSvm } from '../support/solana/svm.ts'
import { startPriceServer, startTrickyRpc } from '../support/wallet-fakes.ts'

/** A chain behind a recording proxy: each request and each answer is a boundary at which the power may be cut. */
interface Rig {
  readonly chain: ChainName
  /** Address of the proxy. */
  readonly url: string
  readonly place: string
  readonly coin: { readonly symbol: string; readonly name: string }
  readonly shop: string
  /** A hundredth of a coin in base units. */
  readonly paidRaw: bigint
  readonly sent: Set<string>
  /** The boundary at which the last mesh process first sent a transaction. */
  sendsAt(): number
  holds(address: string): Promise<bigint>
  /** Adds blocks until transactions that landed are final. */
  bury(): Promise<void>
  close(): Promise<void>
}

async function cutting(behind: { readonly url: string }, sendMethod: string) {
  const rpc = await startTrickyRpc(behind)
  const sent = new Set<string>()
  let sendsAt = 0
  rpc.trick = async ({ method, params, pass }) => {
    const at = passOutside()
    if (method === sendMethod) {
      sent.add(String(params[0]))
      sendsAt = at ?? sendsAt
    }
    const said = await pass()
    passOutside()
    return said
  }
  return { rpc, sent, sendsAt: () => sendsAt }
}

async function evmRig(): Promise<Rig> {
  const anvil = await startAnvil(1)
  const { rpc, ...kept } = await cutting(anvil, 'eth_sendRawTransaction')
  await anvil.rpc('anvil_setBalance', ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0x56bc75e2d63100000'])
  return {
    chain: 'ethereum',
    url: rpc.url,
    place: rpc.place,
    coin: { symbol: 'ETH', name: 'ethereum' },
    shop: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    paidRaw: 10n ** 16n,
    ...kept,
    holds: async (address) => BigInt(String(await anvil.rpc('eth_getBalance', [address, 'latest']))),
    bury: async () => void (await anvil.rpc('anvil_mine', ['0x42'])),
    close: async () => {
      await rpc.close()
      await anvil.close()
    },
  }
}

async function solanaRig(): Promise<Rig> {
  const server = await startSolana(solanaChains.solana.genesis)
  const { rpc, ...kept } = await cutting(server, 'sendTransaction')
  const { svm } = server.chain
  svm.airdrop(base58.decode('AqynRZwvVqUPRwRJXvm6odUb3t93fDjnWe3p6BeuUFxD'), 10n ** 12n)
  const shop = aWallet().address
  svm.airdrop(base58.decode(shop), 10n ** 9n)
  return {
    chain: 'solana',
    url: rpc.url,
    place: rpc.place,
    coin: { symbol: 'SOL', name: 'solana' },
    shop,
    paidRaw: 10n ** 7n,
    ...kept,
    holds: async (address) => svm.account(base58.decode(address))?.lamports ?? 0n,
    bury: async () => server.chain.advance(40),
    close: async () => {
      await rpc.close()
      await server.close()
    },
  }
}

/**
 * The short tests try one boundary in 15, alternately before and after a request or answer; the long tests try
 * each.
 */
const isLong = process.env['FLOTILLA_SOAK'] === '1'
const share = isLong ? 1 : 15
/** For an idle machine: this makes hundreds of mesh processes, one after the other. */
const longMs = 20 * 60_000
if (isLong) vi.setConfig({ testTimeout: patient(longMs) })
/**
 * Longest wait for one look at all open payments, which sends many requests to the chain and waits a second before
 * each.
 */
const pollMs = 60_000

describe.each([
  { name: 'the EVM', make: evmRig, isThere: anvilProgram !== null },
  { name: 'Solana', make: solanaRig, isThere: nativeSvm !== null },
])('a payment on $name that the power cuts off', ({ make, isThere }) => {
  describe.skipIf(!isThere)('anywhere', () => {
    let rig: Rig
    let prices: Awaited<ReturnType<typeof startPriceServer>>
    let ready: PowerCutHome

    let putBack: () => void
    beforeAll(async () => {
      putBack = stretchDeadlines()
      rig = await make()
      prices = await startPriceServer(rig.coin)
      ready = await aPowerCutHome(['left'], {
        egress: { allowed_private: [rig.place, prices.place] },
        wallet: {
          solana_derivation: 'slip-10',
          chains: { [rig.chain]: { rpc_url: rig.url } },
          price_sources: ['coinbase', 'kraken', 'coingecko'].map((kind) => ({ kind, url: prices.url })),
          known_addresses: { shop: rig.shop },
          approve_above_usd: 0.015,
        },
      })
      await ready.with(giveWallet)
    })
    afterAll(async () => {
      putBack()
      await ready?.close()
      await prices?.close()
      await rig?.close()
    })

    async function giveWallet({ kernel, paths, access }: Composed): Promise<void> {
      const { walletSeed: seedPath, walletKey: keyPath } = paths
      const files = createSeedFiles({ seedPath, keyPath, log: kernel.log })
      const manage = createManageWallet({
        ...kernel,
        seed: createSeedStore({ files, now: kernel.clock.now, randomBytes }),
        table: createWalletTable(kernel.database),
        randomBytes,
        requireAgent: () => {},
      })
      const mnemonic = `${'test '.repeat(11)}junk`
      await manage.import(owner, { mnemonic, passphrase: null, firstIndex: undefined })
      manage.give(owner, 'left')
      await access.permissions.edit((records) => ({
        ...records,
        left: {
          ...permissionRecordSchema.parse(records['left']),
          can_use_wallet: true,
          wallet_allowed_chains: [rig.chain],
        },
      }))
    }

    const call = (amount = '0.01') => ({
      endpoint: walletAgentEndpoints.walletTransfer,
      body: { chain: rig.chain, to: rig.shop, amount },
    })

    /** Runs the reconciler until it has looked once at every open payment; null if the power was cut before. */
    async function pollOnce(home: PowerCutHome, endsAt: number | null = null) {
      return home.with(async ({ contexts, kernel: { database } }) => {
        database.exec('UPDATE wallet_intents SET next_look_at = 0 WHERE ended_at IS NULL')
        // A payment that is missing on the chain is checked again before it is sent.
        const due = "SELECT id FROM wallet_intents WHERE next_look_at = 0 OR state = 'signed'"
        const done = new AbortController()
        let running: Promise<void> | undefined
        const { cut, result } = await runUntilCut(endsAt, async () => {
          running = contexts.wallet.modules.wallet.run?.(done.signal).catch(() => {})
          await eventually('it looked', () => home.rows(due).length === 0 || done.signal.aborted, pollMs)
          return 'whole'
        })
        done.abort()
        await running
        return { result, passed: cut.passed }
      })
    }

    async function followed(home: PowerCutHome): Promise<void> {
      for (let times = 0; times < 4; times++) {
        await rig.bury()
        await pollOnce(home)
        if (home.rows('SELECT id FROM wallet_intents WHERE ended_at IS NULL').length === 0) return
      }
      throw new Error('a payment comes to no end')
    }

    /** Returns the stored rows and the chain's state at the end. */
    async function outcome(home: PowerCutHome, hadBefore: bigint) {
      return {
        intents: home.rows(
          'SELECT state, given_back_at, count(*) AS count FROM wallet_intents GROUP BY state',
        ),
        stops: home.rows('SELECT reason FROM wallet_stop'),
        journal: home.rows(
          "SELECT action, count(*) AS count FROM journal WHERE action IN ('wallet.signed', 'wallet.confirmed') GROUP BY action ORDER BY action",
        ),
        landed: (await rig.holds(rig.shop)) - hadBefore,
        sent: rig.sent.size,
      }
    }
    const once = (hundredths: bigint) => ({
      intents: [{ state: 'confirmed', given_back_at: null, count: 1 }],
      stops: [],
      journal: [
        { action: 'wallet.confirmed', count: 1 },
        { action: 'wallet.signed', count: 1 },
      ],
      landed: hundredths * rig.paidRaw,
      sent: 1,
    })

    /** Runs the work on a copy of the home; returns the number of boundaries of the interrupted work. */
    async function onFork(
      work: (home: PowerCutHome) => Promise<number | null>,
      { where, hundredths }: { readonly where: string; readonly hundredths: bigint },
    ): Promise<number | null> {
      const home = await ready.fork()
      try {
        rig.sent.clear()
        const hadBefore = await rig.holds(rig.shop)
        const passed = await work(home)
        if (passed === null) return null
        await followed(home)
        expect({ where, ...(await outcome(home, hadBefore)) }).toEqual({ where, ...once(hundredths) })
        return passed
      } finally {
        await home.close()
      }
    }

    /** Cuts at every boundary, or at a sample of them. */
    async function everywhere(
      what: string,
      work: (home: PowerCutHome, endsAt: number | null) => Promise<number | null>,
      hundredths = 1n,
    ) {
      const all = await onFork((home) => work(home, null), { where: `${what}, whole`, hundredths })
      if (all === null) throw new Error('a process without a cut is complete')
      let cuts = 0
      for (let endsAt = 0; endsAt < all; endsAt += share) {
        const where = `${what}, ${endsAt} of ${all}`
        if ((await onFork((home) => work(home, endsAt), { where, hundredths })) !== null) cuts += 1
      }
      expect(cuts).toBeGreaterThanOrEqual(all / share / 2)
      return all
    }

    test('a payment that a power cut interrupts and that is requested again is signed, charged and landed once', async () => {
      const all = await everywhere('a call', async (home, endsAt) => {
        if (endsAt !== null) {
          const { reply } = await home.runOnce('left', call(), { endsAt })
          if (reply !== null) return null
        }
        const { reply, passed } = await home.runOnce('left', call())
        expect(reply).toMatchObject({ status: 200, body: { state: 'paid' } })
        return passed
      })
      // Each request to the chain and each commit has two boundaries.
      expect(all).toBeGreaterThan(20)
    })

    test('a payment that a power cut interrupts while it is followed, and while it is sent for the first time by who follows it, ends once', async () => {
      await onNewHome((home) => home.runOnce('left', call()))
      // The row is stored, and nothing was sent to the chain.
      const unsent = rig.sendsAt()
      await everywhere('following', async (home, endsAt) => {
        await home.runOnce('left', call(), { endsAt: unsent })
        expect(home.rows('SELECT state FROM wallet_intents')).toEqual([{ state: 'signed' }])
        const sending = await pollOnce(home, endsAt)
        await rig.bury()
        if (endsAt !== null && sending.result !== null) {
          const { result } = await pollOnce(home, endsAt - sending.passed)
          return result === null ? 1 : null
        }
        return sending.passed + (endsAt === null ? (await pollOnce(home)).passed : 0)
      })
    })

    test('an approved payment is carried out once after a kill, by the next start', async () => {
      const confirms = ({ contexts }: Composed) => {
        const [row] = contexts.work.approvals.list(owner, { open: true, limit: 9 })
        if (row?.state !== 'pending') return null
        return contexts.work.approvals.confirm(owner, { id: row.id, digest: row.digest })
      }
      await everywhere(
        'an approval',
        async (home, endsAt) => {
          const { reply } = await home.runOnce('left', call('0.02'))
          expect(reply).toMatchObject({ body: { state: 'waiting' } })
          const { cut, result } = await home.with((parts) => runUntilCut(endsAt, async () => confirms(parts)))
          if (endsAt !== null && result !== null) return null
          await home.with(async (parts) => {
            await parts.contexts.work.modules.approvals.begin?.()
            await confirms(parts)
          })
          return cut.passed
        },
        2n,
      )
    })

    async function onNewHome<T>(work: (home: PowerCutHome) => Promise<T>): Promise<T> {
      const home = await ready.fork()
      try {
        return await work(home)
      } finally {
        await home.close()
        await rig.bury()
      }
    }
  })
})
