import { controlEndpoints } from '@flotilla/protocol/control-api'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { setupEndpoints } from '@flotilla/protocol/setup-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { fireHook } from './fire-hook.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

/** Records the red words of dialogs at each change of the page. */
const redWordsOfDialogs = `
  globalThis.redWords = []
  const look = () => document.querySelectorAll('.dialog .over').forEach((one) => redWords.push(one.textContent))
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, attributes: true })
`

describe.skipIf(!hasBrowser)('forms in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('forms make a valid name of a typed one, offer models with their price, and set budget, heartbeat and permissions', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/fleet?new=agent')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Press & Öffentlichkeit')
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Press-Offentlichkeit')
    await dialog.getByLabel('Role').fill('Writes to the press.')
    expect(await dialog.getByLabel('Model').locator('option').allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringMatching(/scripted\/.* · free/)]),
    )
    await dialog.getByLabel('Dollars a day').fill('3')
    await dialog.getByLabel('scheduled jobs of its own').check()
    await dialog.getByLabel(/^a heartbeat/).check()
    expect(await wrongWith(watched, 'agent-new-form')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await dialog.getByRole('button', { name: 'Create' }).click()
    await giveProof(mesh, page)
    await page.getByRole('heading', { name: 'Press-Offentlichkeit', level: 1 }).waitFor()
    const params = { id: 'Press-Offentlichkeit' }
    const config = (await mesh.call(controlEndpoints.agentConfig, { params })).json()
    expect(config).toMatchObject({ budget: { daily_usd: 3 }, permissions: { can_manage_cron: true } })
    const beats = (await mesh.call(heartbeatEndpoints.heartbeats)).json() as {
      heartbeats: { agent_id: string; schedule: string | null }[]
    }
    expect(beats.heartbeats.find(({ agent_id: id }) => id === params.id)?.schedule).toBe('every 15m')
    expect(faults).toEqual([])
    await context.close()
  })

  it('forms set how much an agent thinks and how long its answers are, by kind of run', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/agents/scribe')
    const answers = page.getByRole('region', { name: 'Answers' })
    await answers.getByText('as the provider decides').first().waitFor()
    await answers.getByRole('button', { name: 'Change … answers' }).click()
    const dialog = page.getByRole('dialog')
    const beat = dialog.getByRole('group', { name: 'In a heartbeat' })
    await beat.getByLabel('Thinking').selectOption('minimal')
    await beat.getByLabel('Longest answer, in tokens').fill('500')
    await picture('agent-answers')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog
      .locator('.added')
      .getByText('heartbeat: thinking minimal, longest answer 500 tokens')
      .waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await answers.getByText('thinks minimal, at most 500 tokens').waitFor()
    const stored = async () => (await mesh.call(setupEndpoints.setupAnswers)).json()['agents']
    expect(await stored()).toEqual({ scribe: { heartbeat: { thinking: 'minimal', max_output_tokens: 500 } } })
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.toast').getByText('are as they were').waitFor()
    expect(JSON.stringify(await stored())).not.toContain('minimal')
    expect(faults).toEqual([])
    await context.close()
  })

  it('forms say in one sentence what an agent may reach, and grant a permission by a switch', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/agents/scribe?tab=permissions')
    await page.getByText(/^scribe may ask operator.*; it may not .*pay\.$/).waitFor()
    const row = page.getByRole('row', { name: /^Schedule jobs/ })
    await row.getByText('can_manage_cron').waitFor()
    await page.getByRole('switch', { name: 'Schedule jobs' }).click()
    await giveProof(mesh, page)
    await page.getByText(/^scribe may .*schedule its own work/).waitFor()
    // The page names the person who gave it, and not the mesh that wrote it.
    await row.getByText('owner (dashboard)').waitFor()
    await picture('agent-permission-switch')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.getByText(/^scribe may .*schedule its own work/).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await context.close()
  })

  it('forms read a schedule in words in the time zone of the browser, and name the nearest form of another', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    // The agents are known only after the dialog has opened.
    await page.route('**/api/status', async (route) => {
      await page.locator('.dialog').waitFor()
      await route.continue()
    })
    await open('/triggers')
    await page.evaluate(redWordsOfDialogs)
    await page.getByRole('region', { name: 'Cron jobs' }).getByRole('button', { name: 'New job …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Enter what the agent shall do.').waitFor()
    // Nothing is red before a person typed, at no moment.
    expect(await page.evaluate('globalThis.redWords')).toEqual([])
    await dialog.getByLabel('Agent', { exact: true }).selectOption('courier')
    const schedule = dialog.getByLabel('Schedule')
    await schedule.fill('every mornign at nine')
    await dialog.locator('.over').getByText('“every morning at 9”').waitFor()
    await schedule.fill('every weekday at 7:30')
    await dialog.getByText('At 07:30, Monday through Friday').waitFor()
    await dialog.getByLabel('Time zone').selectOption('Europe/Berlin')
    await dialog.getByLabel('Message to the agent').fill('Read the mail.')
    await watched.picture('triggers-words')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.locator('.added').getByText('schedule: 30 7 * * 1-5').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Read the mail.').waitFor()
    // The words are in the dialog too, until the job is saved.
    await expect
      .poll(async () => (await mesh.call(cronHumanEndpoints.cronJobs)).json()['jobs'])
      .toContainEqual(expect.objectContaining({ schedule: '30 7 * * 1-5', timezone: 'Europe/Berlin' }))
    // The time zone of an existing job changes, and Undo puts it back.
    const row = page.getByRole('row').filter({ hasText: 'Read the mail.' })
    await row.getByRole('button', { name: 'Change …' }).click()
    await dialog.getByLabel('Time zone').selectOption('Asia/Tokyo')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.locator('.added').getByText('time zone: Asia/Tokyo').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('Asia/Tokyo').waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).last().click()
    await row.getByText('Europe/Berlin').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('forms make a webhook beside the other triggers, with a signed example and a test', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/triggers?new=webhook')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Builds')
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('courier')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const example = page.getByRole('region', { name: 'A signed event for Builds' })
    const secret = (await page.locator('code.secret').textContent()) ?? ''
    expect(await example.first().textContent()).toContain(secret)
    await page.getByRole('button', { name: 'I have it' }).click()
    await page.getByText('Example of a signed event').click()
    expect(await example.textContent()).not.toContain(secret)
    const url = (await page.locator('code.path').textContent()) ?? ''
    expect(await fireHook(url, secret, '{"first":true}')).toMatch(/accepted.* 202/)
    await page.getByRole('button', { name: 'Send a test to Builds' }).click()
    await page.getByRole('list', { name: 'Deliveries of Builds' }).getByText('by test').waitFor()
    expect(await wrongWith(watched, 'triggers-webhook')).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })
})
