import { agentImageEndpoints } from '@flotilla/protocol/agent-image'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { keptEndpoints } from '@flotilla/protocol/kept-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { hostileFile, hostileFileName, hostileText } from './dashboard-cassette.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'
import type { WatchedPage } from './open-browser.ts'

const tabs = [
  { id: 'overview', name: 'Overview', shows: 'The whole fleet' },
  { id: 'identity', name: 'Identity', shows: 'whom it works for' },
  { id: 'permissions', name: 'Permissions', shows: 'blackboard_write' },
  { id: 'memory', name: 'Memory', shows: 'The port is 8080' },
  { id: 'tools', name: 'Skills and tools', shows: 'memory_search' },
  { id: 'schedule', name: 'Schedule', shows: 'No job yet' },
  { id: 'files', name: 'Files', shows: hostileFileName },
  { id: 'runs', name: 'Runs', shows: 'keep what I say' },
  { id: 'logs', name: 'Logs', shows: 'Following' },
] as const

describe.skipIf(!hasBrowser)('an agent in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  let looked: WatchedPage | undefined
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
    await mesh.ask('keep what I say', { agent: 'scribe', session: 'dashboard' })
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it.each(tabs)(
    '$name is whole, quiet and readable in both themes and widths',
    async ({ id, name, shows }) => {
      looked ??= await openPage(browser, mesh.url)
      await looked.page.setViewportSize({ width: 1280, height: 800 })
      if (id === 'overview') await looked.open('/agents/scribe')
      await looked.page.getByRole('tab', { name }).click()
      await looked.page.locator('main').getByText(shows).first().waitFor()
      await expect.poll(() => looked?.page.locator('.skeleton').count()).toBe(0)
      expect(await wrongWith(looked, `agent-${id}`)).toEqual([])
    },
  )

  it('an agent in the browser is made by hand, changed with a look at the difference, taken back, and put away', async () => {
    const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    await page.getByRole('button', { name: 'New agent …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Not A Name')
    expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Name').fill('herald')
    await dialog.getByLabel('Role').fill(hostileText.slice(0, 300))
    await dialog.getByLabel('Instructions').fill('Announce what is new.')
    await picture('agent-new')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'herald', level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/agents/herald')

    await page.getByRole('tab', { name: 'Overview' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    const text = page.getByRole('textbox', { name: 'Text of INSTRUCTIONS.md' })
    await expect.poll(() => text.inputValue()).toContain('Announce what is new.')
    const before = await text.inputValue()
    await text.fill(`${before}\nSay it kindly.`)
    await page.getByRole('button', { name: 'Review change' }).click()
    const difference = page.getByRole('region', { name: 'What changes in INSTRUCTIONS.md' })
    expect(await difference.locator('.added').allInnerTexts()).toEqual([
      expect.stringContaining('Say it kindly.'),
    ])
    expect(await difference.locator('.removed').count()).toBe(0)
    await picture('agent-edit')
    await page.getByRole('button', { name: 'Save' }).click()
    const written = async () => {
      const reply = await mesh.call(keptEndpoints.identityFile, {
        params: { id: 'herald', file: 'INSTRUCTIONS.md' },
      })
      return String(reply.json()['content'])
    }
    await page.locator('.toast').getByText('INSTRUCTIONS.md saved').waitFor()
    expect(await written()).toContain('Say it kindly.')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.toast').getByText('The change of herald is undone.').waitFor()
    expect(await written()).toBe(before)

    await page.getByRole('tab', { name: 'Overview' }).click()
    await page.getByRole('button', { name: 'Edit …' }).click()
    await dialog.getByLabel('Role').fill('Announces.')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.locator('.added').getByText('role: Announces.').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.locator('.facts').getByText('Announces.').waitFor()

    await page.getByRole('button', { name: 'Archive' }).click()
    await page.locator('.toast').getByText('herald is archived.').waitFor()
    await open('/fleet')
    await page.getByText('Archived (1)').click()
    await page
      .getByRole('list', { name: 'Archived agents' })
      .getByRole('link', { name: 'herald', exact: true })
      .waitFor()
    await picture('fleet-archived')
    await page.getByRole('button', { name: 'More for herald' }).click()
    await page.getByRole('menuitem', { name: 'Unarchive' }).click()
    await page
      .getByRole('list', { name: 'Agents', exact: true })
      .getByRole('link', { name: 'herald', exact: true })
      .waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('an agent in the browser is asked what it may, and the mesh that would decide says so, with the line and the repair', async () => {
    const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
    await open('/agents/scribe?tab=permissions')
    const simulator = page.getByRole('region', { name: 'May this agent …?' })
    const ask = async (action: string, resource: string) => {
      await simulator.getByLabel('Do').selectOption(action)
      if (resource !== '') await simulator.getByRole('textbox').fill(resource)
      await simulator.getByRole('button', { name: 'Ask' }).click()
    }
    await ask('message-agent', 'courier')
    await simulator.getByText('no', { exact: true }).waitFor()
    const told = await mesh.call(controlEndpoints.permissionsExplain, {
      params: { id: 'scribe' },
      query: { action: 'message-agent', resource: 'courier' },
    })
    const { reason, field, line } = told.json()
    await simulator.getByText(String(reason)).waitFor()
    // The mesh's repair is a command line; the page names the control that does the same.
    await simulator.getByText(`Change ${String(field)} below to allow this action.`).waitFor()
    await simulator.getByText(`config/permissions.json:${String(line)}`).waitFor()
    await picture('agent-may-it')
    await ask('message-agent', 'operator')
    await simulator.getByText('yes', { exact: true }).waitFor()
    await ask('read-blackboard', hostileText.slice(0, 200))
    await simulator.locator('.verdict').getByText('<img src=x').first().waitFor()
    const row = page.getByRole('row', { name: /can_message/ })
    expect(await row.innerText()).toMatch(/operator.*default.*default of its kind/s)
    expect(faults).toEqual([])
    await context.close()
  })

  it('a permission that a person gives keeps its row, and says at once and after a reload who gave it and when', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/agents/scribe?tab=permissions')
    const row = page.getByRole('row', { name: /can_manage_cron/ })
    const rows = () =>
      page.getByRole('region', { name: 'Table of permissions' }).getByRole('row').allInnerTexts()
    const placeOf = async () => (await rows()).findIndex((text) => text.includes('can_manage_cron'))
    expect(await row.innerText()).toMatch(/not given/)
    const place = await placeOf()
    await row.getByRole('switch').click()
    await giveProof(mesh, page)
    await row.getByText('owner (dashboard)').waitFor()
    expect(await row.innerText()).toMatch(/yes.*grant.*owner \(dashboard\).*(?:now|s ago)/s)
    expect(await placeOf()).toBe(place)
    await page.reload()
    await row.getByText('owner (dashboard)').waitFor()
    expect(await row.innerText()).toMatch(/yes.*grant.*owner \(dashboard\).*(?:now|s ago)/s)
    expect(await placeOf()).toBeLessThan(place)
    await row.getByRole('switch').click()
    await giveProof(mesh, page)
    await row.getByText('taken by').waitFor()
    expect(await row.innerText()).toMatch(/no.*not given.*taken by owner \(dashboard\)/s)
    expect(faults).toEqual([])
    await context.close()
  })

  it('an agent in the browser is given a permission, a server and a job with a look at the difference, which are all taken back', async () => {
    const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
    const dialog = page.getByRole('dialog')
    const toast = page.locator('.toast')
    const recordOf = async () => {
      const reply = await mesh.call(controlEndpoints.agentConfig, { params: { id: 'scribe' } })
      return reply.json() as { permissions: { can_message: string[] }; mcpServers: object }
    }
    await open('/agents/scribe?tab=permissions')
    await page.getByRole('button', { name: 'Change … can_message' }).click()
    await dialog.getByRole('textbox').fill('operator\ncourier')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    expect(await dialog.locator('.added').allInnerTexts()).toEqual([expect.stringContaining('courier')])
    await picture('agent-permission-change')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('You can undo this for half an hour, under Changes.').waitFor()
    await picture('agent-permission-proof')
    await giveProof(mesh, page)
    await toast.getByText('permissions saved').waitFor()
    expect((await recordOf()).permissions.can_message).toEqual(['operator', 'courier'])
    await toast.getByRole('button', { name: 'Undo' }).click()
    await toast.getByText('The change of scribe is undone.').waitFor()
    expect((await recordOf()).permissions.can_message).toEqual(['operator'])

    await page.getByRole('tab', { name: 'Skills and tools' }).click()
    await page.getByRole('button', { name: 'Add a server …' }).click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('tracker')
    await dialog.getByLabel('Where it is').selectOption('container')
    await dialog.getByText('command is a text of 1 to 4096 characters').waitFor()
    await dialog.getByLabel('How it is set up').fill('{ "command": "true", "disabled": true }')
    await picture('agent-server-new')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await toast.getByText('MCP servers saved').waitFor()
    await page.getByRole('button', { name: 'Change … tracker' }).waitFor()
    await page.getByRole('button', { name: 'Remove tracker' }).click()
    await expect.poll(async () => (await recordOf()).mcpServers).toEqual({})
    await toast.filter({ hasText: 'MCP servers saved' }).nth(1).getByRole('button', { name: 'Undo' }).click()
    await expect.poll(async () => (await recordOf()).mcpServers).toHaveProperty('tracker')

    const schedules = async () => {
      const reply = await mesh.call(cronHumanEndpoints.cronJobs, { query: { agent: 'scribe' } })
      const { jobs } = reply.json() as { jobs: { schedule: string; heartbeat: boolean }[] }
      return jobs.filter(({ heartbeat }) => !heartbeat).map(({ schedule }) => schedule)
    }
    await page.getByRole('tab', { name: 'Schedule' }).click()
    await page.getByRole('button', { name: 'New job …' }).click()
    await dialog.getByLabel('Schedule').fill('0 7 * * 1')
    await dialog.getByText('At 07:00, only on Monday').waitFor()
    await dialog.getByLabel('Message to the agent').fill('Read the new licences.')
    await picture('agent-job-new')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect.poll(schedules).toEqual(['0 7 * * 1'])
    const jobs = page.getByRole('region', { name: 'Cron jobs' })
    await jobs.getByText('Read the new licences.').waitFor()
    await jobs.getByRole('button', { name: 'Change …' }).click()
    await dialog.getByLabel('Schedule').fill('every 2h')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    expect(await dialog.locator('.removed').allInnerTexts()).toEqual([expect.stringContaining('0 7 * * 1')])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect.poll(schedules).toEqual(['every 2h'])
    await toast.filter({ hasText: 'The job is changed.' }).getByRole('button', { name: 'Undo' }).click()
    await expect.poll(schedules).toEqual(['0 7 * * 1'])
    await jobs.getByRole('button', { name: 'Remove' }).click()
    await expect.poll(schedules).toEqual([])
    await toast.filter({ hasText: 'The job is removed.' }).getByRole('button', { name: 'Undo' }).click()
    await expect.poll(schedules).toEqual(['0 7 * * 1'])

    const beat = page.getByRole('region', { name: 'Heartbeat' })
    await beat.getByRole('button', { name: 'Change …' }).click()
    await dialog.getByLabel('Heartbeat on').check()
    await dialog.getByLabel('How often').fill('every 3x')
    await dialog.getByText('a heartbeat is like').waitFor()
    await dialog.getByLabel('How often').fill('every 3h')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await beat.getByText('Every 3 hours').waitFor()
    await picture('agent-schedule-edited')
    expect(faults).toEqual([])
    await context.close()
  })

  it('an agent in the browser gets an image of the owner, which is whole in both themes and widths, and is taken back', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, context } = watched
    const dialog = page.getByRole('dialog')
    const part = page.getByRole('region', { name: 'Image', exact: true })
    const named = `registry.example/team/tools@sha256:${'ab'.repeat(32)}`
    const imageOf = async () =>
      (await mesh.call(agentImageEndpoints.agentImage, { params: { id: 'courier' } })).json()['image']
    await open('/agents/courier')
    await part.getByText('The image of every agent.').waitFor()
    await part.getByRole('button', { name: 'Change … image' }).click()
    const field = dialog.getByLabel('Image with its digest')
    await field.fill('registry.example/team/tools:latest')
    await dialog.getByText('an image is named with its digest').waitFor()
    const review = dialog.getByRole('button', { name: 'Review change' })
    expect(await review.isDisabled()).toBe(true)
    expect(await wrongWith(watched, 'agent-image-form')).toEqual([])
    await field.fill(named)
    await review.click()
    await dialog.locator('.added').getByText(named).waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await giveProof(mesh, page)
    await part.getByText(named).waitFor()
    expect(await imageOf()).toBe(named)
    expect(await wrongWith(watched, 'agent-image')).toEqual([])
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await part.getByText('The image of every agent.').waitFor()
    expect(await imageOf()).toBe(null)
    await context.close()
  })

  it('an edit in the browser does not overwrite unseen changes: the concurrent change and the typed text both stay', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    const change = async (edit: AgentEdit) =>
      mesh.call(controlEndpoints.agentEdit, { params: { id: 'courier' }, body: edit })
    const textOf = async () => {
      const params = { id: 'courier', file: 'USER.md' }
      return (await mesh.call(keptEndpoints.identityFile, { params })).json()['content']
    }
    await open('/agents/courier?tab=identity')
    await page.getByRole('button', { name: /^USER\.md/ }).click()
    const text = page.getByRole('textbox', { name: 'Text of USER.md' })
    await text.fill('Ada reads in the evening.')
    await change({ field: 'USER.md', value: 'Grace reads at noon.', reason: '' })
    await page.getByText('USER.md was changed by someone else').waitFor()
    expect(await text.inputValue()).toBe('Ada reads in the evening.')
    await page.getByRole('button', { name: 'Review change' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.toast').getByText('changed the value since you read it').waitFor()
    expect(await textOf()).toBe('Grace reads at noon.')
    await page.getByRole('button', { name: 'Compare with the current text' }).click()
    await page.getByRole('button', { name: 'Review change' }).click()
    await page.locator('.removed').getByText('Grace reads at noon.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(textOf).toBe('Ada reads in the evening.')

    // A form sends only the fields that were changed in it, so it does not overwrite a change made elsewhere.
    await open('/fleet')
    await page.getByRole('button', { name: 'Edit courier' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Dollars a day').fill('7')
    await change({ field: 'role', value: 'Carries letters.', reason: '' })
    await page.getByText('Carries letters.').first().waitFor()
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.locator('.toast').getByText('budget saved').waitFor()
    const config = await mesh.call(controlEndpoints.agentConfig, { params: { id: 'courier' } })
    expect(config.json()).toMatchObject({ role: 'Carries letters.', budget: { daily_usd: 7 } })
    expect(faults).toEqual([])
    await context.close()
  })

  it('an agent in the browser shows what strangers wrote as text, hands files on as bytes, and forgets for good', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/agents/scribe?tab=files')
    await page.getByRole('button', { name: hostileFileName }).click()
    const shown = page.getByRole('region', { name: `Text of ${hostileFileName}` })
    expect(await shown.innerText()).toBe(hostileFile)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(await download.failure()).toBeNull()
    const reply = await fetch(`${mesh.url}/api/agents/scribe/files/${encodeURIComponent(hostileFileName)}`)
    expect(await reply.text()).toBe(hostileFile)
    expect(reply.headers.get('content-type')).toBe('application/octet-stream')
    expect(reply.headers.get('content-disposition')).toBe(
      'attachment; filename="_img_src_x_onerror_alert_6__.html"',
    )
    expect((await fetch(`${mesh.url}/api/agents/scribe/files/.flotilla/door-token`)).status).toBeGreaterThan(
      399,
    )

    await open('/agents/scribe?tab=memory')
    await page.getByText('<script>alert(2)</script>').first().waitFor()
    await page.getByRole('button', { name: 'Forget … port' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
    await giveProof(mesh, page)
    await page.locator('.toast').getByText('The fact is forgotten.').waitFor()
    await expect.poll(() => page.getByText('The port is 8080').count()).toBe(0)
    await page.getByText('The owner likes short answers.').waitFor()
    const kept = await mesh.call(keptEndpoints.facts, { params: { id: 'scribe' } })
    expect(kept.json()['facts']).toMatchObject([{ key: 'tone' }])
    expect(faults).toEqual([])
    await context.close()
  })

  it('an agent in the browser makes a fleet of a template, after a look at what that would do', async () => {
    const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    await page.getByRole('button', { name: 'New agent …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('tab', { name: 'From a template' }).click()
    const effect = dialog.getByRole('list', { name: 'Effect of the template' })
    await dialog.getByRole('button', { name: /^on-call/ }).click()
    await effect.getByText('May: Write the blackboard').waitFor()
    const fields = await effect.locator('dt').allInnerTexts()
    expect(fields.filter((field) => /^[a-z]+[._]/.test(field))).toEqual([])
    await dialog.getByRole('button', { name: 'Back' }).click()
    await dialog.getByRole('button', { name: /^starter/ }).click()
    await effect.getByRole('listitem').first().waitFor()
    await picture('fleet-template')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.locator('.toast').getByText('starter is applied.').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})
