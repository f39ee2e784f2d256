import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownersPolicy, startAskedRequests } from '../support/asked-requests.ts'
import { wrongWith } from './every-view.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('the policy in the browser', () => {
  let fleet: Awaited<ReturnType<typeof startAskedRequests>>
  let browser: Browser
  beforeAll(async () => {
    ;[fleet, browser] = await Promise.all([startAskedRequests(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await fleet?.stop()
  })

  it('"Always" shows the rule, sends the request, and the same request leaves without asking', async () => {
    await fleet.submit('first')
    await fleet.asked('first')
    const watched = await openPage(browser, fleet.mesh.url)
    const { page, open, faults, context } = watched
    await open('/approvals')
    await page.getByRole('button', { name: 'Always …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('region', { name: 'The rule' }).getByText('excepts: orders').waitFor()
    expect(await wrongWith(watched, 'approval-always')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await dialog.getByRole('button', { name: 'Approve always' }).click()
    await giveProof(fleet.mesh, page)
    await page
      .locator('.toast')
      .getByText('The action was carried out, and the rule always-sender-')
      .waitFor()
    expect(fleet.arrived('first')).toBe(1)
    expect(await fleet.policyText()).toContain(ownersPolicy.split('\ncases:')[0])

    await fleet.send('first')
    expect(fleet.arrived('first')).toBe(2)
    await fleet.submit('second')
    await fleet.asked('second')
    expect(fleet.arrived('second')).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  })

  it('/policy has the rules with their hits, and allows what was stopped with one rule', async () => {
    const watched = await openPage(browser, fleet.mesh.url)
    const { page, openWhole, faults, context } = watched
    await openWhole('/policy', 'Stopped in the last seven days')
    const rules = page.getByRole('region', { name: 'Table of rules' })
    await rules
      .getByRole('row')
      .filter({ hasText: /orders.*An order\..*ask/ })
      .waitFor()
    const stopped = page.getByRole('region', { name: 'Table of stopped effects' })
    const rowOf = (text: RegExp) => stopped.getByRole('row').filter({ hasText: text })
    await rowOf(/first.*allows this by now/).waitFor()
    expect(await rowOf(/first/).getByRole('button').count()).toBe(0)
    expect(await wrongWith(watched, 'policy-stops')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await rowOf(/second/)
      .getByRole('button', { name: 'Allow …' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('sender: POST').first().waitFor()
    expect(await wrongWith(watched, 'policy-allow')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await dialog.getByRole('button', { name: 'Add the rule' }).click()
    await giveProof(fleet.mesh, page)
    await page.locator('.toast').getByText('The rule was added.').waitFor()
    await rowOf(/second.*allows this by now/).waitFor()
    await fleet.send('second')
    expect(fleet.arrived('second')).toBe(1)
    expect(faults).toEqual([])
    await context.close()
  })

  it('several requests are decided with each sentence of each of them as a point', async () => {
    await Promise.all([fleet.submit('third'), fleet.submit('fourth')])
    await Promise.all([fleet.asked('third'), fleet.asked('fourth')])
    const watched = await openPage(browser, fleet.mesh.url)
    const { page, open, context } = watched
    await open('/approvals')
    await page.getByRole('button', { name: 'Decide several …' }).click()
    const list = page.getByRole('dialog').getByRole('list', { name: 'List of requests' })
    const item = list.locator('> li').filter({ hasText: '/third' })
    expect(await item.getByRole('listitem').count()).toBeGreaterThan(1)
    expect(await wrongWith(watched, 'approvals-several')).toEqual([])
    await context.close()
  })

  it('the link of a notice shows one approval, and opening it decides nothing', async () => {
    await fleet.submit('fifth')
    await fleet.asked('fifth')
    const list = () => fleet.mesh.call(controlEndpoints.pending, { query: { state: 'open', limit: 100 } })
    const open = async () => controlApi.pending.response.parse((await list()).json()).pending
    const fifth = (await open()).find(({ summary }) => summary.includes('/fifth'))
    const path = `/approvals/${fifth?.id.replace('_', '%5F')}`
    // A platform opens the link for a preview.
    for (const method of ['GET', 'HEAD'])
      expect(
        (await fetch(fleet.mesh.url + path, { method, headers: { 'user-agent': 'a bot' } })).status,
      ).toBe(200)
    const watched = await openPage(browser, fleet.mesh.url)
    const { page, context } = watched
    await watched.openWhole(path, '/fifth')
    expect(await page.getByRole('button', { name: 'Approve …' }).count()).toBe(1)
    expect((await open()).find(({ id }) => id === fifth?.id)?.state).toBe('pending')
    expect(fleet.arrived('fifth')).toBe(0)
    expect(await wrongWith(watched, 'approval-alone')).toEqual([])
    await page.getByRole('button', { name: 'Refuse' }).click()
    await page.getByRole('region', { name: 'Table of decisions' }).getByText('cancelled').waitFor()
    await watched.openWhole('/approvals/appr_none', 'no approval has the id')
    await context.close()
  })

  it('a viewer sees no rules, and a broken file is shown with its line', async () => {
    const added = await fleet.mesh.call(peopleAdminEndpoints.personAdd, {
      body: { name: 'vic', role: 'viewer', agents: [] },
    })
    const viewer = await openPage(browser, fleet.mesh.url, { token: String(added.json()['token']) })
    await viewer.openWhole('/policy', 'Only owners may see this')
    await viewer.context.close()
    await fleet.writePolicy('rules:\n  - { name: stop }\n')
    const watched = await openPage(browser, fleet.mesh.url)
    await watched.openWhole('/policy', 'config/policy.yaml line 2')
    await watched.page.getByText('Everything that agents do outside of their containers is denied').waitFor()
    expect(await wrongWith(watched, 'policy-broken')).toEqual([])
    await watched.context.close()
  })
})
