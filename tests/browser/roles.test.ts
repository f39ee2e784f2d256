import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import type { PersonRole } from '@flotilla/protocol/people'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('the dashboard of somebody who is no owner', () => {
  let mesh: MeshProcess
  let browser: Browser
  const tokens: Record<string, string> = {}
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
    await add('vic', 'viewer', [])
    await add('ann', 'member', ['scribe'])
    await mesh.ask('audit the licences', { agent: 'scribe', session: 'dashboard' })
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  async function add(name: string, role: PersonRole, agents: readonly string[]): Promise<void> {
    const added = await mesh.call(peopleAdminEndpoints.personAdd, { body: { name, role, agents } })
    tokens[name] = String(added.json()['token'])
  }

  /** Opens the page of that person, and records the paths of its own requests that the mesh refused. */
  async function pageOf(name: string) {
    const watched = await openPage(browser, mesh.url, { token: tokens[name] ?? '' })
    const refused: string[] = []
    watched.page.on('response', (reply) => {
      if (reply.status() === 403) refused.push(new URL(reply.url()).pathname)
    })
    return { ...watched, refused }
  }

  /** The state of each named button: `free` if it is enabled, otherwise its title, which is the reason. */
  async function buttonsOf(page: Page, names: readonly string[]) {
    const found = await Promise.all(
      names.map(async (name) => {
        const button = page.locator('main').getByRole('button', { name }).first()
        await button.waitFor()
        return [name, (await button.isEnabled()) ? 'free' : await button.getAttribute('title')] as const
      }),
    )
    return Object.fromEntries(found)
  }

  const looksOnly = 'You are a viewer, so you may read but not change anything.'
  const ownersOf = (role: PersonRole) => `Only owners may do this; you are a ${role}.`

  it('the dashboard shows a viewer everything to look at, and why nothing can be pressed', async () => {
    const { page, openWhole, faults, refused, context } = await pageOf('vic')
    await openWhole('/fleet', 'Spent today')
    await page.getByText('who may read but not change anything').first().waitFor()
    expect(await buttonsOf(page, ['New agent …', 'Pause triggers', 'Edit scribe'])).toEqual({
      'New agent …': ownersOf('viewer'),
      'Pause triggers': ownersOf('viewer'),
      'Edit scribe': looksOnly,
    })
    await openWhole('/chat/scribe', 'left-pad states no licence')
    const field = page.getByRole('textbox', { name: 'Message to scribe' })
    expect(await field.isDisabled()).toBe(true)
    expect(await field.getAttribute('placeholder')).toBe(looksOnly)
    expect(await buttonsOf(page, ['Start over', 'Send'])).toEqual({
      'Start over': looksOnly,
      Send: looksOnly,
    })
    await openWhole('/triggers', 'Send the morning report.')
    expect(await buttonsOf(page, ['New job …', 'Run now', 'New folder …'])).toEqual({
      'New job …': looksOnly,
      'Run now': looksOnly,
      'New folder …': ownersOf('viewer'),
    })
    await openWhole('/work', 'No task yet')
    expect(await buttonsOf(page, ['Give a task …'])).toEqual({ 'Give a task …': looksOnly })
    for (const path of ['/approvals', '/journal', '/settings', '/wallet', '/welcome']) {
      await openWhole(path, 'Only owners may see this')
    }
    await openWhole('/agents/scribe?tab=permissions', 'Only owners may see this')
    await openWhole('/agents/scribe', 'The whole fleet')
    expect(await buttonsOf(page, ['Edit …', 'Archive'])).toEqual({ 'Edit …': looksOnly, Archive: looksOnly })
    expect({ faults, refused }).toEqual({ faults: [], refused: [] })
    await context.close()
  })

  it('the dashboard lets a member act on what is granted, and on nothing else', async () => {
    const { page, openWhole, faults, refused, context } = await pageOf('ann')
    await openWhole('/fleet', 'Spent today')
    await page.getByText('member of scribe').first().waitFor()
    expect(await buttonsOf(page, ['New agent …', 'Edit scribe', 'Edit courier'])).toEqual({
      'New agent …': ownersOf('member'),
      'Edit scribe': 'free',
      'Edit courier': 'You have no access to the agent courier.',
    })
    await page.getByRole('button', { name: 'Edit scribe' }).click()
    await page.getByRole('dialog').getByLabel('Role').fill('Reads licences, and says so.')
    await page.getByRole('button', { name: 'Review change' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('scribe: role saved').waitFor()
    await openWhole('/agents/scribe?tab=permissions', 'May this agent …?')
    await openWhole('/triggers', 'Send the morning report.')
    expect(await buttonsOf(page, ['New job …', 'Run now'])).toEqual({
      'New job …': 'free',
      'Run now': 'You have no access to the agent courier.',
    })
    await page.getByRole('button', { name: 'New job …' }).click()
    expect(
      await page.getByRole('dialog').getByLabel('Agent', { exact: true }).locator('option').allInnerTexts(),
    ).toEqual(['scribe'])
    await page.keyboard.press('Escape')
    await openWhole('/chat/scribe', 'left-pad states no licence')
    expect(await page.getByRole('textbox', { name: 'Message to scribe' }).isEnabled()).toBe(true)
    expect({ faults, refused }).toEqual({ faults: [], refused: [] })
    await context.close()
  })

  it.each([
    ['fleet', '/fleet', 'Spent today'],
    ['approvals', '/approvals', 'Only owners may see this'],
  ])('the dashboard is whole and readable on the %s page too', async (name, path, shows) => {
    const watched = await pageOf('vic')
    await watched.openWhole(path, shows)
    expect(await wrongWith(watched, `viewer-${name}`)).toEqual([])
    await watched.context.close()
  })
})
