import { text as read } from 'node:stream/consumers'
import { walletEndpoints } from '@flotilla/protocol/wallet-api'
import { walletPaymentApi, walletPaymentEndpoints } from '@flotilla/protocol/wallet-payments-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anvilProgram, startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
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
import { wrongWith } from './every-view.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const mnemonic = `${'test '.repeat(11)}junk`
/** The address at index 1 of the seed phrase of development chains. */
const payer = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
/** Hostile texts: the symbol of a token, of which 20 characters are kept, and the error text of an RPC server. */
const symbol = '<svg/onload=ran(1)>'
const note = '<img src=x onerror="window.ran=2">'

/** Pages of a fleet with payments, on a local chain and with prices of a local server. */
describe.skipIf(!hasBrowser || anvilProgram === null)('the wallet on its page', () => {
  let anvil: Anvil
  let rpc: TrickyRpc
  let prices: PriceServer
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    anvil = await startAnvil(8453)
    rpc = await startTrickyRpc(anvil)
    prices = await startPriceServer()
    browser = await openBrowser()
    mesh = await startMesh({
      settings: {
        egress: { allowed_private: [rpc.place, prices.place] },
        wallet: {
          // The egress settings do not allow the address of the second chain.
          chains: { base: { rpc_url: rpc.url }, polygon: { rpc_url: 'http://127.0.0.1/v2' } },
          price_sources: ['coinbase', 'kraken', 'coingecko', 'defillama'].map((kind) => ({
            kind,
            url: prices.url,
          })),
          known_addresses: { friend },
        },
      },
    })
    for (const name of ['scout', 'idle']) await mesh.createWorker(name)
    await mesh.call(walletEndpoints.walletImport, { body: { mnemonic } })
    for (const name of ['scout', 'idle']) {
      await mesh.call(walletEndpoints.walletAddressGive, { body: { agent_id: name } })
    }
    const token = await deploy(anvil, 'Token', tokenWords(symbol, 6))
    // mint(address,uint256)
    const data = `0x40c10f19${word(payer)}${word(10n ** 9n)}`
    await sendFrom(anvil, { from: faucet, to: token, data })
    await anvil.rpc('anvil_setBalance', [payer, `0x${(10n ** 20n).toString(16)}`])
    await editPermissions(mesh, 'scout', {
      can_use_wallet: true,
      wallet_allowed_chains: ['base'],
      wallet_allowed_contracts: [token],
      wallet_spend_limit_daily_usd: 1,
    })
    await pays({ to: friend, amount: '0.5' })
    await eventually('it landed', async () => {
      const reply = await mesh.call(walletPaymentEndpoints.walletPayments)
      const { payments } = walletPaymentApi.walletPayments.response.parse(reply.json())
      return payments[0]?.state === 'landed' || null
    })
    rpc.trick = ({ method, id }) =>
      method === 'eth_sendRawTransaction'
        ? Promise.resolve({ jsonrpc: '2.0', id, error: { code: -32000, message: note } })
        : null
    await pays({ to: friend, amount: '0.25', token })
    await pays({ to: stranger, amount: '0.01' })
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
    await rpc?.close()
    await prices?.close()
    await anvil?.close()
  })

  const pays = async (what: object) =>
    JSON.stringify((await mesh.invoke('scout', 'wallet_transfer', { chain: 'base', ...what })).outcome)

  it('the wallet page shows payments, pending approvals, limits and balances, with hostile names as text', async () => {
    const looked = await openPage(browser, mesh.url)
    const { page } = looked
    await looked.openWhole('/wallet', 'Open payments')
    const part = (name: string) => page.getByRole('region', { name, exact: true })
    await part('Payments').getByText(symbol).waitFor()
    await part('Payments').getByText(note).waitFor()
    await part('Waiting for you').getByText(`to ${stranger} on base`).waitFor()
    await part('Limits').getByText('of $1.00, $0.25 left').waitFor()
    expect(
      await part('Limits').getByRole('meter', { name: 'Paid today, scout' }).getAttribute('aria-valuenow'),
    ).toBe('75')
    await part('Limits').getByText('may not pay').waitFor()
    await part('Addresses').getByText('polygon: 127.0.0.1 is not a public address').waitFor()
    await part('Addresses').getByText('99.').first().waitFor()
    expect(await wrongWith(looked, 'wallet')).toEqual([])
    expect(await page.evaluate('window.ran')).toBeUndefined()
    await page.setViewportSize({ width: 1280, height: 800 })

    const saved = page.waitForEvent('download')
    await part('Payments').getByRole('button', { name: 'Export as CSV' }).click()
    const text = await read(await (await saved).createReadStream())
    const told = await flotilla({ url: mesh.url, home: mesh.home }, 'wallet', 'history', '--csv')
    expect(text.split('\n')).toHaveLength(4)
    expect(text).toBe(told.out)
    await part('Payments').getByRole('combobox', { name: 'Agent' }).selectOption('idle')
    await part('Payments').getByText('Nothing was paid yet').waitFor()
    await part('Waiting for you').getByRole('link').click()
    await page.getByText('was never paid before').first().waitFor()
    expect(looked.faults).toEqual([])
    await looked.context.close()
  })

  it('the wallet on its page offers more for a payment that no block takes, then cancels it, with the owner’s proof', async () => {
    const looked = await openPage(browser, mesh.url)
    const { page } = looked
    await looked.openWhole('/wallet', 'Open payments')
    const stuck = async () => {
      const reply = await mesh.call(walletPaymentEndpoints.walletPayments)
      const { payments } = walletPaymentApi.walletPayments.response.parse(reply.json())
      return payments[0]
    }
    const first = await stuck()
    const row = page.getByRole('row').filter({ hasText: symbol })
    // Payments that are on the chain have no such buttons.
    expect(await page.getByRole('button', { name: /^(Speed up|Cancel) … Payment/ }).count()).toBe(2)

    await row.getByRole('button', { name: 'Speed up …' }).click()
    await page.getByText(`scout: ${first?.what}.`).waitFor()
    await page.getByRole('button', { name: 'Offer more', exact: true }).click()
    await giveProof(mesh, page)
    await page.getByText('The payment was signed once more, at a higher fee.').waitFor()
    const second = await stuck()
    expect(second).toMatchObject({ id: first?.id, state: 'signed' })
    expect(second?.tx_id).not.toBe(first?.tx_id)
    expect(second?.counted_usd).toBeGreaterThan(first?.counted_usd ?? 0)

    await row.getByRole('button', { name: 'Cancel …' }).click()
    expect(await wrongWith(looked, 'wallet-cancel')).toEqual([])
    // The proof given a moment ago is still valid.
    await page.getByRole('button', { name: 'Cancel the payment', exact: true }).click()
    await page.getByText('A transaction that moves nothing was signed in its place.').waitFor()
    // From now on the RPC accepts transactions, and the mesh sends the newest of its signatures.
    rpc.trick = () => null
    await eventually('it is cancelled', async () => {
      await anvil.rpc('anvil_mine', ['0x42'])
      return (await stuck())?.state === 'cancelled' || null
    })
    await row.getByText('cancelled', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Cancel …' }).waitFor({ state: 'detached' })
    await looked.context.close()
  })

  it('the wallet on its page says why nothing is signed any more, and lets it go on with the owner’s proof', async () => {
    // Simulates a second program with the same seed, whose nonces are ahead of the one payment that no node
    // accepted.
    await anvil.rpc('anvil_impersonateAccount', [payer])
    for (const value of ['0x1', '0x2']) await sendFrom(anvil, { from: payer, to: friend, value })
    expect(await pays({ to: friend, amount: '0.01' })).toContain('another program pays from the same seed')
    const looked = await openPage(browser, mesh.url)
    const { page } = looked
    await looked.openWhole('/fleet', 'The wallet signs no payments')
    await page.getByText('flotilla wallet resume', { exact: true }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Wallet', exact: true }).click()
    await page.getByText('The wallet signs no payments').waitFor()
    await page.getByText('another program pays from the same seed').waitFor()
    expect(await wrongWith(looked, 'wallet-stopped')).toEqual([])
    await page.getByRole('button', { name: 'Resume the wallet …' }).click()
    await page.getByRole('button', { name: 'Sign again', exact: true }).click()
    await giveProof(mesh, page)
    await page.getByText('The wallet signs again.').waitFor()
    await page.getByText('The wallet signs no payments').waitFor({ state: 'detached' })
    await looked.context.close()
  })

  it('the wallet on its page is opened with its passphrase after a start, and not with another', async () => {
    const passphrase = 'a long sentence that nobody guesses'
    await mesh.call(walletEndpoints.walletImport, { body: { mnemonic, passphrase } })
    await mesh.terminate()
    await mesh.restart()
    const looked = await openPage(browser, mesh.url)
    const { page } = looked
    await looked.openWhole('/wallet', 'locked')
    expect(await wrongWith(looked, 'wallet-locked')).toEqual([])
    const field = page.getByLabel('Passphrase', { exact: true })
    const opens = page.getByRole('button', { name: 'Open the wallet' })
    await field.fill('another sentence')
    await opens.click()
    await page.getByText('this passphrase does not open the wallet').waitFor()
    await field.fill(passphrase)
    await opens.click()
    await page.getByText('The wallet is open until the mesh stops.').waitFor()
    await opens.waitFor({ state: 'detached' })
    await looked.context.close()
  })
})
