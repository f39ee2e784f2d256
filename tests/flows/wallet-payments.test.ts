import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { walletEndpoints } from '@flotilla/protocol/wallet-api'
import { walletPaymentApi, walletPaymentEndpoints } from '@flotilla/protocol/wallet-payments-api'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { anvilProgram, startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { layPolicy } from '../support/lay-policy.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import {
  deploy,
  faucet,
  sendFrom,
  startPriceServer,
  startTrickyRpc,
  tokenWords,
  word,
} from '../support/wallet-fakes.ts'
import type { PriceServer, TrickyRpc } from '../support/wallet-fakes.ts'
import { heedsLesson, verifies } from '../verifies.ts'

/** The address at index 1 of the seed phrase of development chains. */
const payer = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const killed = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href
const pays = (when: string, to: string) => ({
  agents: ['scout'],
  when: `^${when}`,
  turns: [calls('wallet_transfer', { chain: 'base', to, amount: '0.01' }), says('Asked for it.')],
})

describe.skipIf(anvilProgram === null)('payments of an agent', () => {
  let anvil: Anvil
  let rpc: TrickyRpc
  let prices: PriceServer
  let mesh: MeshProcess
  let arm: string
  const at = { dollar: '', apart: '', stale: '', taker: '' }

  beforeAll(async () => {
    anvil = await startAnvil(8453)
    rpc = await startTrickyRpc(anvil)
    prices = await startPriceServer()
    arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
    mesh = await startMesh({
      cassettes: {
        paid: aCassette(pays('kill', killed), pays('asked', killed), pays('stranger', stranger), {
          agents: ['scout'],
          when: '^What you asked a person for .* is done',
          turns: [says('It is paid.')],
        }),
      },
      environment: { NODE_OPTIONS: `--import=${preload}`, KILL_WHEN_ARMED: arm },
      settings: {
        default_model: 'scripted/paid',
        egress: { allowed_private: [rpc.place, prices.place] },
        wallet: {
          chains: { base: { rpc_url: rpc.url } },
          price_sources: ['coinbase', 'kraken', 'coingecko', 'defillama'].map((kind) => ({
            kind,
            url: prices.url,
          })),
          known_addresses: { friend, killed },
        },
      },
    })
    await mesh.createWorker('scout')
    await mesh.call(walletEndpoints.walletImport, { body: { mnemonic: `${'test '.repeat(11)}junk` } })
    await mesh.call(walletEndpoints.walletAddressGive, { body: { agent_id: 'scout' } })
    for (const name of ['dollar', 'apart', 'stale'] as const) {
      at[name] = await deploy(anvil, 'Token', tokenWords('USDX', 6))
      // mint(address,uint256)
      await sendFrom(anvil, {
        from: faucet,
        to: at[name],
        data: `0x40c10f19${word(payer)}${word(10n ** 9n)}`,
      })
    }
    at.taker = await deploy(anvil, 'Taker')
    await anvil.rpc('anvil_setBalance', [payer, `0x${(10n ** 20n).toString(16)}`])
  })
  afterAll(async () => {
    await mesh?.stop()
    await rpc?.close()
    await prices?.close()
    await anvil?.close()
  })

  const told = async (tool: string, params: object) =>
    JSON.stringify((await mesh.invoke('scout', tool, params)).outcome)
  const cli = (...words: string[]) => flotilla({ url: mesh.url, home: mesh.home }, 'wallet', ...words)
  const history = async () =>
    walletPaymentApi.walletPayments.response.parse(
      (await mesh.call(walletPaymentEndpoints.walletPayments)).json(),
    ).payments
  const balance = async (whose: string) =>
    BigInt(String(await anvil.rpc('eth_getBalance', [whose, 'latest'])))
  const tokensOf = async (whose: string) =>
    BigInt(
      String(await anvil.rpc('eth_call', [{ to: at.dollar, data: `0x70a08231${word(whose)}` }, 'latest'])),
    )
  const buried = () => anvil.rpc('anvil_mine', ['0x41'])
  const newestIs = (state: string) =>
    eventually(`the newest payment is ${state}`, async () => (await history())[0]?.state === state || null)
  const to = (recipient: string, more: object = {}) => ({
    chain: 'base',
    to: recipient,
    amount: '0.01',
    ...more,
  })

  it('payments of an agent are refused by whatever a person has not allowed, field by field', async () => {
    verifies('resources:permission:wallet-allowed-contracts')
    expect(await told('wallet_transfer', to(friend))).toContain('can_use_wallet')
    await editPermissions(mesh, 'scout', { can_use_wallet: true })
    expect(await told('wallet_transfer', to(friend))).toContain('wallet_allowed_chains')
    await editPermissions(mesh, 'scout', { wallet_allowed_chains: ['base'] })
    expect(await told('wallet_transfer', to(friend, { token: at.dollar }))).toContain(
      'wallet_allowed_contracts',
    )
    await editPermissions(mesh, 'scout', { wallet_spend_limit_per_tx_usd: 0.005 })
    expect(await told('wallet_transfer', to(friend))).toContain('wallet_spend_limit_per_tx_usd')
    await editPermissions(mesh, 'scout', {
      wallet_spend_limit_per_tx_usd: 0,
      wallet_allowed_contracts: Object.values(at),
      wallet_rate_limit_per_hour: 1000,
    })
    expect(await history()).toEqual([])
    expect(rpc.asked).not.toContain('eth_sendRawTransaction')
  })

  it('payments of an agent land once, in coin and in tokens, and are followed to a block that stays', async () => {
    verifies('endpoints:wallet:keys-stay-in-mesh')
    const coins = await balance(friend)
    expect(await told('wallet_transfer', to(friend))).toContain('paid')
    expect(await told('wallet_transfer', to(friend, { amount: '0.25', token: at.dollar }))).toContain('paid')
    await eventually(
      'both landed',
      async () => (await balance(friend)) - coins === 10n ** 16n && (await tokensOf(friend)) === 250_000n,
    )
    await buried()
    await eventually(
      'both are confirmed',
      async () => (await history()).every(({ state }) => state === 'confirmed') || null,
    )
    const shown = await cli('history')
    expect(shown.out).toMatch(/scout +confirmed/)
    const csv = await cli('history', '--csv')
    expect(csv.out.split('\n')[0]).toBe(
      'id,signed_at,ended_at,agent_id,run_id,chain,from,to,what,state,counted_usd,given_back,approved_by,tx_id,block,note',
    )
    expect((await cli('limits')).out).toMatch(/scout +yes +10 USD +0\.26\d* of 100 USD +2 of 1000 +base/)
    expect(await told('wallet_payments', {})).toContain('confirmed')
    expect(mesh.log()).not.toContain('59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
  })

  it('payments of an agent are refused where two prices are not there, are old, or are apart', async () => {
    heedsLesson(18)
    // A price is cached briefly: each of these tokens is priced for the first time.
    const token = (address: string) => to(friend, { amount: '0.01', token: address })
    prices.says = { ...prices.says, defillama: 1.03 }
    expect(await told('wallet_transfer', token(at.apart))).toContain('differ by more than 2 %')
    prices.says = { ...prices.says, defillama: 1 }
    prices.ageSeconds = 400
    expect(await told('wallet_transfer', token(at.stale))).toContain('older than 5 minutes')
    prices.ageSeconds = 10
    expect(await history()).toHaveLength(2)
  })

  it('payments that an RPC reports as failed after sending are found, and those of another chain are not signed', async () => {
    const before = await balance(friend)
    rpc.trick = ({ method, id, pass }) =>
      method === 'eth_sendRawTransaction'
        ? pass().then(() => ({ jsonrpc: '2.0', id, error: { code: -32000, message: 'it failed' } }))
        : null
    expect(await told('wallet_transfer', to(friend))).toContain('paid')
    expect((await history())[0]).toMatchObject({
      state: 'signed',
      note: expect.stringContaining('it failed'),
    })
    await eventually('it is found', async () => (await history())[0]?.state === 'landed' || null)
    rpc.trick = ({ method, id }) =>
      method === 'eth_chainId' ? Promise.resolve({ jsonrpc: '2.0', id, result: '0x1' }) : null
    expect(await told('wallet_transfer', to(friend))).toContain('serves chain 1')
    rpc.trick = () => null
    await buried()
    await newestIs('confirmed')
    expect((await balance(friend)) - before).toBe(10n ** 16n)
    expect(await history()).toHaveLength(3)
  })

  it('payments of an agent are made once over an RPC that answers twice, and over one that lets them wait', async () => {
    const before = await balance(friend)
    const count = (await history()).length
    rpc.answersTwice = 'eth_sendRawTransaction'
    expect(await told('wallet_transfer', to(friend))).toContain('paid')
    rpc.answersTwice = null
    expect((await history())[0]).toMatchObject({ note: expect.stringContaining('not JSON-RPC') })

    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    rpc.trick = ({ method, pass }) =>
      method === 'eth_sendRawTransaction' ? pass().then((said) => held.then(() => said)) : null
    const asked = told('wallet_transfer', to(friend))
    // The payment is stored before the RPC answers, and its outcome is found without that answer.
    await eventually('it is signed', async () => (await history()).length === count + 2 || null)
    await newestIs('landed')
    release()
    expect(await asked).toContain('paid')
    rpc.trick = () => null
    await buried()
    await eventually(
      'both are confirmed',
      async () => (await history()).every(({ state }) => state === 'confirmed') || null,
    )
    expect((await balance(friend)) - before).toBe(2n * 10n ** 16n)
    expect(await history()).toHaveLength(count + 2)
  })

  it('payments of an agent to a stranger wait for a person, who sees what is paid, and are made once when they say yes', async () => {
    const runId = await mesh.submit('stranger, please', { agent: 'scout' })
    const waiting = await eventually('it waits', async () => {
      const reply = await mesh.call(controlEndpoints.pending)
      const { pending } = controlApi.pending.response.parse(reply.json())
      return pending[0] ?? null
    })
    expect(waiting.summary).toBe(`pay 0.01 ETH (0.01 USD) to ${stranger} on base`)
    expect(waiting.consequences.join(' ')).toContain(`${stranger} was never paid before`)
    expect(waiting.costs[0]).toMatch(/^The fee is at most 0\.\d+ ETH/)
    expect(await balance(stranger)).toBe(0n)
    const confirmed = await mesh.call(controlEndpoints.pendingConfirm, {
      params: { id: waiting.id },
      body: { digest: waiting.digest },
    })
    expect(confirmed.json()).toMatchObject({ state: 'done' })
    // The chain reports the transaction slightly before its block.
    await eventually('it landed', async () => (await balance(stranger)) === 10n ** 16n)
    expect((await mesh.ended(runId)).outcome).toMatchObject({ status: 'done' })
    expect((await history())[0]).toMatchObject({ approved_by: expect.any(String), run_id: runId })
    await buried()
    await newestIs('confirmed')
  })

  const moments = [
    'after INSERT INTO wallet_intents',
    'before UPDATE wallet_intents',
    'before INSERT INTO wallet_intents',
    'after UPDATE wallet_intents',
  ]
  // The short tests try only the kill after the payment was sent and before this was written. The long tests try
  // the others, too; wallet-cuts.test.ts covers them without processes.
  it.each(process.env['FLOTILLA_SOAK'] === '1' ? moments : moments.slice(1, 2))(
    'payments of an agent are made once by a mesh that is killed %s',
    async (moment) => {
      const before = await balance(killed)
      const count = (await history()).length
      await writeFile(arm, moment)
      const run = await mesh.submit(`kill ${moment}`, {
        agent: 'scout',
        key: moment,
        session: moment.replaceAll(' ', '-'),
      })
      await eventually('the mesh is killed', async () => !existsSync(arm) || null)
      await mesh.kill9().catch(() => undefined)
      await mesh.restart()
      expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done' })
      await eventually('it landed', async () => (await history())[0]?.state === 'landed' || null)
      await buried()
      await newestIs('confirmed')
      expect((await balance(killed)) - before).toBe(10n ** 16n)
      expect(await history()).toHaveLength(count + 1)
    },
  )

  const askedMoments = [
    'after UPDATE approvals',
    'before UPDATE wallet_intents',
    'before UPDATE approvals',
    'before INSERT INTO wallet_intents',
    'after INSERT INTO wallet_intents',
    'after UPDATE wallet_intents',
    'before 2x UPDATE approvals',
  ]
  it.each(process.env['FLOTILLA_SOAK'] === '1' ? askedMoments : askedMoments.slice(0, 2))(
    'payments that a rule asks about are made once after a person approved them, by a mesh that is killed %s',
    async (moment) => {
      const policy = join(mesh.home, 'config', 'policy.yaml')
      await layPolicy(
        mesh,
        'rules:\n  - { name: pays, match: { tool: wallet_transfer }, verdict: ask }\n',
        'pays',
      )
      onTestFinished(() => writeFile(policy, ''))
      const before = await balance(killed)
      const count = (await history()).length
      const key = `asked-${moment.replaceAll(' ', '-')}`
      const run = await mesh.submit(`asked ${moment}`, { agent: 'scout', key, session: key })
      const open = async () => {
        const reply = await mesh.call(controlEndpoints.pending)
        return controlApi.pending.response.parse(reply.json()).pending[0] ?? null
      }
      const { id, digest } = await eventually('it waits', open)
      const confirm = () => mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest } })
      await writeFile(arm, moment)
      await confirm().catch(() => undefined)
      await eventually('the mesh is killed', async () => !existsSync(arm) || null)
      await mesh.kill9().catch(() => undefined)
      // Nothing leaves for an approval that is not in the database.
      if (moment === 'before UPDATE approvals') expect(await balance(killed)).toBe(before)
      await mesh.restart()
      if (moment === 'before UPDATE approvals') await confirm()
      expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done' })
      await eventually('it landed', async () => (await history())[0]?.state === 'landed' || null)
      await buried()
      await newestIs('confirmed')
      expect((await confirm()).status).toBe(409)
      expect((await balance(killed)) - before).toBe(10n ** 16n)
      expect(await history()).toHaveLength(count + 1)
    },
  )

  it('payments that are not included are replaced by their owner, at a higher fee or by an empty one, and count once', async () => {
    const before = await balance(friend)
    const count = (await history()).length
    await anvil.rpc('evm_setAutomine', [false])
    expect(await told('wallet_transfer', to(friend))).toContain('paid')
    expect(await told('wallet_transfer', to(friend))).toContain('paid')
    const [unwanted, stuck] = await history()
    const faster = await cli('speed-up', stuck?.id ?? '')
    expect(faster, faster.err).toMatchObject({ code: 0 })
    expect(faster.out).toMatch(/^Signed as 0x\w+, and sent\. It counts for at most 0\.01\d* USD now\./)
    const nothing = await cli('cancel', unwanted?.id ?? '')
    expect(nothing, nothing.err).toMatchObject({ code: 0 })
    await anvil.rpc('anvil_mine', ['0x42'])
    await anvil.rpc('evm_setAutomine', [true])
    await newestIs('cancelled')
    await eventually(
      'the other one is confirmed',
      async () => (await history())[1]?.state === 'confirmed' || null,
    )
    const [cancelled, hurried] = await history()
    expect(hurried?.tx_id).not.toBe(stuck?.tx_id)
    expect(cancelled?.counted_usd).toBeLessThan(0.001)
    expect((await balance(friend)) - before).toBe(10n ** 16n)
    expect(await history()).toHaveLength(count + 2)
    expect((await cli('cancel', stuck?.id ?? '')).err).toContain('can no longer be replaced')
    expect((await cli('limits')).out).not.toContain('The wallet signs no payments')
  })

  it('payments of an agent stop by themselves where a contract did more than its simulation showed', async () => {
    const call = (name: string, contract: string, args: unknown[]) => ({
      chain: 'base',
      contract,
      function: name,
      args,
    })
    await editPermissions(mesh, 'scout', {
      wallet_spend_limit_per_tx_usd: 20,
      wallet_spend_limit_daily_usd: 100,
    })
    const allows = call('approve(address,uint256)', at.dollar, [at.taker, '900000'])
    expect(await told('wallet_simulate', allows)).toContain('may take 0.9 of the token')
    // The mesh would ask a person before it approves a new spender, so the test sends the approval itself.
    await anvil.rpc('anvil_impersonateAccount', [payer])
    await sendFrom(anvil, { from: payer, to: at.dollar, data: `0x095ea7b3${word(at.taker)}${word(900_000)}` })
    // That was a transaction which the mesh did not sign.
    const take = call('take(address,uint256)', at.taker, [at.dollar, '10'])
    expect(await told('wallet_transfer', to(friend))).toContain('another program pays from the same seed')
    expect((await cli('limits')).out).toContain('The wallet signs no payments')
    const halted = (await flotilla({ url: mesh.url, home: mesh.home }, 'status')).out
    expect(halted).toMatch(
      /The wallet signs no payments: .*another program pays from the same seed.*Next: flotilla wallet resume/,
    )
    const resumed = (await cli('resume')).out
    expect(resumed).toMatch(
      /The wallet signs again\. It was stopped: .*another program pays from the same seed/,
    )
    expect(resumed).not.toContain('The wallet signs no payments')
    await anvil.rpc('evm_setAutomine', [false])
    // The contract takes the token for itself, for the first time.
    expect(await told('wallet_execute', take)).toContain(`${at.taker.toLowerCase()} was never paid before`)
    const { pending } = controlApi.pending.response.parse((await mesh.call(controlEndpoints.pending)).json())
    const [{ id, digest } = { id: '', digest: '' }] = pending
    const confirmed = await mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest } })
    expect(confirmed.json()).toMatchObject({ state: 'done' })
    await anvil.rpc('anvil_setStorageAt', [at.taker, '0x0', `0x${word(1)}`])
    await anvil.rpc('anvil_mine', ['0x42'])
    await eventually(
      'the wallet stops',
      async () => (await cli('limits')).out.includes('did more than its simulation') || null,
    )
    expect(await told('wallet_transfer', to(friend))).toContain('wallet-stopped')
  })
})
