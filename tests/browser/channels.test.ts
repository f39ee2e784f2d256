import { channelEndpoints } from '@flotilla/protocol/channels-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { aWebhookPlatform } from '../support/webhook-platform.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('the channels in the settings', () => {
  let mesh: MeshProcess
  let browser: Browser
  let platform: Awaited<ReturnType<typeof aWebhookPlatform>>
  beforeAll(async () => {
    ;[mesh, browser, platform] = await Promise.all([startDashboardFleet(), openBrowser(), aWebhookPlatform()])
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([mesh?.stop(), platform?.close()])
  })

  const view = async () => (await mesh.call(channelEndpoints.channels)).json()

  it('the channels in the settings are added with the owner’s proof, paired, chosen for notices, and removed', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/settings/channels')
    await page.getByText('No channel is on yet.').waitFor()
    await page.getByRole('button', { name: 'Add Telegram' }).click()
    await page.getByText(/Ask @BotFather/).waitFor()
    expect(await page.locator('main').textContent()).not.toContain('flotilla channels add')
    await page.getByLabel('Token of the bot').fill('no token at all')
    await page.getByRole('button', { name: 'Check and save' }).click()
    await giveProof(mesh, page)
    await page.getByRole('alert').getByText('does not have the expected form').waitFor()
    expect(await page.getByRole('alert').textContent()).not.toContain('no token at all')
    expect(await wrongWith(watched, 'channel-refused')).toEqual([])
    await page.getByRole('button', { name: 'Cancel Telegram' }).click()

    await page.getByRole('button', { name: 'Add Webhook channel' }).click()
    await page.getByLabel('Secret of Standard Webhooks').fill(platform.secret)
    await page.getByLabel('Where answers are posted').fill(platform.url)
    await page.getByRole('button', { name: 'Check and save' }).click()
    await page.getByText('connected', { exact: true }).waitFor()
    expect(await page.content()).not.toContain(platform.secret)

    await page.getByRole('button', { name: 'Pair with Webhook channel' }).click()
    const code = (await page.locator('code.secret').textContent()) ?? ''
    expect(code).toMatch(/^[A-Z2-9]{8}$/)
    await platform.deliver(mesh.url, 'guess', { conversation: '1', text: 'AAAAAAAA' })
    await page.getByText('1 wrong code received meanwhile').waitFor()
    expect(await wrongWith(watched, 'channel-pairing')).toEqual([])
    await platform.deliver(mesh.url, 'code', { conversation: '1', text: code })
    await page.getByText('Paired: owner (webhook:intranet:ann)').waitFor()
    await page.getByText('owner (owner) is').waitFor()

    await page.getByRole('checkbox', { name: 'Webhook channel' }).check()
    await page.getByRole('checkbox', { name: /^Tasks that the operator/ }).uncheck()
    await page.getByRole('checkbox', { name: /^Hold notifications/ }).check()
    await page.getByLabel('From').fill('23:30')
    expect(await wrongWith(watched, 'channel-notices')).toEqual([])
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await eventually('the notices are kept', async () => {
      const { notices } = (await view()) as { notices: { to: string[] } }
      return notices.to.length === 1
    })
    expect((await view())['notices']).toEqual({
      to: ['webhook'],
      about: ['notes', 'approvals', 'budgets'],
      quiet_hours: { from: '23:30', to: '07:00' },
    })

    await page.getByRole('button', { name: 'Remove Webhook channel' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Remove / })
      .click()
    await page.getByRole('button', { name: 'Add Webhook channel' }).waitFor()
    const gone = await platform.deliver(mesh.url, 'late', { conversation: '1', text: 'hello?' })
    expect(gone.status).toBe(404)
    expect(faults).toEqual([])
    await context.close()
  })
})
