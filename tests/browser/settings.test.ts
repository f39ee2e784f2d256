import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { backupEndpoints } from '@flotilla/protocol/backup-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setupEndpoints } from '@flotilla/protocol/setup-api'
import { startKeyedProvider } from '../support/keyed-provider.ts'
import type { KeyedProvider } from '../support/keyed-provider.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { fireHook } from './fire-hook.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const rightKey = 'sk-right-0123456789abcdef'

describe.skipIf(!hasBrowser)('the settings', () => {
  let mesh: MeshProcess
  let browser: Browser
  let provider: KeyedProvider
  beforeAll(async () => {
    ;[mesh, browser, provider] = await Promise.all([
      startDashboardFleet(),
      openBrowser(),
      startKeyedProvider({ key: rightKey, models: ['hello'] }),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([mesh?.stop(), provider?.close()])
  })

  it('the settings make a backup with the owner’s proof, read it to its end, and say what a restore needs', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    const dialog = page.getByRole('dialog')
    await open('/settings/backup')
    await page.getByRole('button', { name: 'Make a backup …' }).click()
    await dialog.getByLabel('Passphrase').fill('short')
    expect(await dialog.getByRole('button', { name: 'Make backup' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Passphrase').fill('a long sentence that nobody guesses')
    await picture('backup-new')
    await dialog.getByRole('button', { name: 'Make backup' }).click()
    await page.getByText('The whole home is written into one file').waitFor()
    await giveProof(mesh, page)
    await page.getByText(/^backup-\d{8}T\d{6}Z is complete$/).waitFor()
    await page.getByText('with secrets.').waitFor()
    await picture('backup-made')
    const { folder, backups } = (await mesh.call(backupEndpoints.backups)).json() as {
      folder: string
      backups: { name: string; bytes: number }[]
    }
    expect(backups).toHaveLength(1)
    const name = backups[0]?.name ?? ''
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
    for (const [passphrase, words] of [
      ['not the passphrase', /is incomplete, or cannot be read/],
      ['a long sentence that nobody guesses', /is whole$/],
    ] as const) {
      await page.getByRole('button', { name: `Verify … ${name}` }).click()
      await dialog.getByLabel('Its passphrase').fill(passphrase)
      await dialog.getByRole('button', { name: 'Verify' }).click()
      await page.getByText(words).waitFor()
    }
    await page.getByText(`flotilla restore ${folder}/${name}`).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('the settings create a webhook whose secret is shown once, which curl fires, and rotate it', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/settings/integrations')
    await page.getByRole('button', { name: 'New webhook …' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Alerts <b>of</b> the shop')
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('courier')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const shown = page.locator('code.secret')
    const secret = (await shown.textContent()) ?? ''
    expect(secret.length).toBeGreaterThanOrEqual(32)
    await picture('webhook-secret')
    await page.getByRole('button', { name: 'I have it' }).click()
    expect(await shown.count()).toBe(0)
    const url = (await page.locator('code.path').textContent()) ?? ''
    expect(await fireHook(url, 'not the secret at all', '{"first":true}')).toContain('401')
    expect(await fireHook(url, secret, '{"first":true}')).toMatch(/accepted.* 202/)
    await page.getByRole('button', { name: 'Deliveries' }).click()
    const deliveries = page.getByRole('list', { name: 'Deliveries of Alerts <b>of</b> the shop' })
    await deliveries.getByText('accepted').waitFor()
    await deliveries.getByRole('button', { name: 'Replay' }).click()
    await deliveries.getByText('by replay').waitFor()
    await page.getByRole('button', { name: 'Test' }).click()
    await deliveries.getByText('by test').waitFor()
    await picture('webhook-deliveries')
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('button', { name: 'Make a new secret' }).click()
    await giveProof(mesh, page)
    await shown.waitFor()
    const next = (await shown.textContent()) ?? ''
    expect(next).not.toBe(secret)
    expect(await fireHook(url, next, '{"second":true}')).toMatch(/ 202/)
    expect(await fireHook(url, secret, '{"third":true}')).toMatch(/ 202/)
    await page.reload()
    await page.getByRole('button', { name: 'Deliveries' }).waitFor()
    expect(await page.content()).not.toContain(next)
    expect(faults).toEqual([])
    await context.close()
  })

  it('the settings check a key at its provider, say what was wrong with it, and never show it again', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/settings/providers')
    await page.getByRole('combobox', { name: 'Provider', exact: true }).selectOption('openai')
    await page.getByRole('textbox', { name: /^Address \(/ }).fill(provider.baseUrl)
    await page.getByRole('combobox', { name: 'Model', exact: true }).fill('hello')
    const key = page.getByLabel('Key', { exact: true })
    await key.fill('sk-wrong-0123456789abcdef')
    await page.getByRole('button', { name: 'Check and save' }).click()
    await giveProof(mesh, page)
    const refusal = page.getByRole('alert')
    await refusal.getByText('Incorrect API key').waitFor()
    expect(await refusal.textContent()).not.toContain('sk-wrong')
    await picture('provider-refused')
    await key.fill(rightKey)
    await page.getByRole('button', { name: 'Check and save' }).click()
    await page.getByText('openai/hello answered').waitFor()
    expect(provider.asked).toEqual(['hello'])
    expect(await key.inputValue()).toBe('')
    await page.getByText('Servers, stored keys').waitFor()
    await page.reload()
    await page.getByText('Servers, stored keys').waitFor()
    expect(await page.content()).not.toContain(rightKey)
    expect((await mesh.ask('Anybody there?', { agent: 'courier' })).outcome?.text).toBe('Hello there')
    expect(faults).toEqual([])
    await context.close()
  })

  it('the settings list a server of one’s own that wants no key, and forget it', async () => {
    const own = await startKeyedProvider({ models: ['own'] })
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    try {
      const body = { provider: 'groq', base_url: own.baseUrl, model: 'own', make_default: false }
      expect((await mesh.call(setupEndpoints.setupProvider, { body })).status).toBe(200)
      await open('/settings/providers')
      const row = page.getByRole('listitem').filter({ hasText: own.baseUrl })
      await row.getByText('groq', { exact: true }).waitFor()
      // A typed key would go to the provider's usual address, and the page says so.
      await page.getByRole('combobox', { name: 'Provider', exact: true }).selectOption('groq')
      await page
        .getByText(`The current address is ${own.baseUrl}. A new key is sent to the usual address`)
        .waitFor()
      await row.getByRole('button', { name: /^Forget/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
      await giveProof(mesh, page)
      await row.waitFor({ state: 'detached' })
      expect(faults).toEqual([])
    } finally {
      await own.close()
      await context.close()
    }
  })

  it('the settings add servers of one’s own by name, show them under it, and remove one', async () => {
    const [one, two] = await Promise.all([
      startKeyedProvider({ key: rightKey, models: ['small', 'large'] }),
      startKeyedProvider({ models: ['other'] }),
    ])
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    try {
      await open('/settings/providers')
      const form = page.getByRole('form', { name: 'Add a server' })
      await form.getByLabel('Name of the server').fill('GPU box')
      expect(await form.getByLabel('Name of the server').inputValue()).toBe('gpu-box')
      await form.getByLabel('Address of the server').fill(one.baseUrl)
      await form.getByLabel(/^Key of the server/).fill(rightKey)
      await form.getByRole('button', { name: 'List models of the server' }).click()
      await form.getByText('2 models are known there.').waitFor()
      await form.getByRole('combobox', { name: 'Model of the server' }).fill('small')
      await picture('add-server')
      await form.getByRole('button', { name: 'Check, add and use by default' }).click()
      await giveProof(mesh, page)
      await page.getByText('gpu-box/small answered').waitFor()
      await form.getByLabel('Name of the server').fill('second')
      await form.getByLabel('Address of the server').fill(two.baseUrl)
      await form.getByRole('combobox', { name: 'Model of the server' }).fill('other')
      await form.getByRole('button', { name: 'Check, add and use by default' }).click()
      await page.getByText('second/other answered').waitFor()
      for (const [name, { baseUrl }] of [
        ['gpu-box', one],
        ['second', two],
      ] as const) {
        const row = page.getByRole('listitem').filter({ hasText: baseUrl })
        await row.getByText(name, { exact: true }).waitFor()
      }
      await page.getByRole('region', { name: 'Table of models' }).getByText('second/other').first().waitFor()
      await page.getByRole('listitem').filter({ hasText: one.baseUrl }).getByRole('button').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('listitem').filter({ hasText: one.baseUrl }).waitFor({ state: 'detached' })
      expect(await page.content()).not.toContain(rightKey)
      expect(faults).toEqual([])
    } finally {
      await Promise.all([one.close(), two.close()])
      await context.close()
    }
  })

  it('the settings store a credential and add a person, whose token is shown once', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/settings/credentials')
    await page.getByLabel('Name', { exact: true }).fill('github_token')
    await page.getByLabel('Value', { exact: true }).fill('ghp_0123456789abcdef')
    await page.getByLabel('Hosts that may receive the credential').fill('api.github.com')
    await page.getByRole('button', { name: 'Store' }).click()
    await giveProof(mesh, page)
    await page.getByRole('cell', { name: 'api.github.com' }).waitFor()
    await open('/settings/people')
    await page.getByLabel('Name', { exact: true }).fill('ada')
    await page.getByRole('button', { name: 'Add' }).click()
    // A page that was loaded again has no proof any more.
    await giveProof(mesh, page)
    const token = (await page.locator('code.secret').textContent()) ?? ''
    expect(token).toMatch(/^flp_/)
    const me = await fetch(`${mesh.url}/api/me`, { headers: { authorization: `Bearer ${token}` } })
    expect(await me.json()).toMatchObject({ name: 'ada', role: 'member' })
    expect(faults).toEqual([])
    await context.close()
  })
})
