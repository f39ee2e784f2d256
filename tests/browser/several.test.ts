import { agentHarnessEndpoints } from '@flotilla/protocol/agent-harness'
import { agentSizeEndpoints } from '@flotilla/protocol/agent-size'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { packagesHumanEndpoints } from '@flotilla/protocol/packages-api'
import { pauseEndpoints } from '@flotilla/protocol/pause-api'
import { taskHumanEndpoints } from '@flotilla/protocol/task-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { pendingIds, startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('agents and their work in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('several agents are paused at once after a confirmation that names them, and resumed by Undo', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/fleet')
    await page.getByRole('button', { name: 'Several agents …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: /^scribe/ }).check()
    await dialog.getByRole('checkbox', { name: /^operator/ }).check()
    await dialog.getByText('Archive: not operator. The operator cannot be archived.').waitFor()
    expect(await dialog.getByRole('button', { name: /^Resume/ }).isDisabled()).toBe(true)
    expect(await wrongWith(watched, 'fleet-several')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await dialog.getByRole('button', { name: 'Pause 2 …' }).click()
    await dialog.getByRole('list', { name: 'What it is done to' }).getByText('scribe').waitFor()
    await dialog.getByRole('button', { name: 'Pause 2 agents' }).click()
    await page.locator('.toast').getByText('2 agents paused.').waitFor()
    const paused = async () => {
      const { pauses } = (await mesh.call(pauseEndpoints.pauses)).json() as { pauses: { agent_id: string }[] }
      return pauses.map(({ agent_id: id }) => id).toSorted()
    }
    expect(await paused()).toEqual(['operator', 'scribe'])
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.toast').getByText('2 agents resumed.').waitFor()
    expect(await paused()).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('an agent is deleted from its page, and several from the fleet, by a red button with the name', async () => {
    for (const id of ['leaver', 'leaver-2', 'leaver-3']) await mesh.createWorker(id)
    await mesh.call(cronHumanEndpoints.cronCreate, {
      body: { agent: 'leaver', schedule: '0 9 * * *', message: 'Say hello.' },
    })
    const left = async () => {
      const { agents } = (await mesh.call(meshHumanEndpoints.status)).json() as { agents: { id: string }[] }
      return agents.map(({ id }) => id).filter((id) => id.startsWith('leaver'))
    }
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    const dialog = page.getByRole('dialog')
    await open('/agents/operator')
    await page.getByRole('button', { name: 'Restart' }).waitFor()
    expect(await page.getByRole('button', { name: /^Delete/ }).count()).toBe(0)
    await open('/agents/leaver')
    await page.getByRole('button', { name: 'Delete leaver …' }).click()
    await dialog.getByText(/^cron job .* \(0 9 \* \* \*\)/).waitFor()
    const button = dialog.getByRole('button', { name: 'Delete leaver', exact: true })
    expect(await button.getAttribute('class')).toContain('danger')
    expect(await wrongWith(watched, 'agent-delete')).toEqual([])
    await button.click()
    await page.getByText('The agent is deleted with its data and artifacts').waitFor()
    expect(await left()).toContain('leaver')
    await giveProof(mesh, page)
    await page.locator('.toast').getByText('leaver is deleted.').waitFor()
    await page.waitForURL('**/fleet')
    expect(await left()).toEqual(['leaver-2', 'leaver-3'])

    await page.getByRole('button', { name: 'Several agents …' }).click()
    for (const name of [/^operator/, /^leaver-2/, /^leaver-3/])
      await dialog.getByRole('checkbox', { name }).check()
    await dialog.getByText('Delete: not operator. The operator cannot be deleted.').waitFor()
    await dialog.getByRole('button', { name: 'Delete 2 …' }).click()
    await dialog.getByRole('list', { name: 'What it is done to' }).getByText('leaver-3').waitFor()
    expect(await wrongWith(watched, 'fleet-several-delete')).toEqual([])
    await dialog.getByRole('button', { name: 'Delete 2 agents' }).click()
    await page.locator('.toast').getByText('2 agents deleted.').waitFor()
    expect(await left()).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('several tasks are cancelled at once, and the others keep their state', async () => {
    await mesh.submit('slow', { agent: 'scribe' })
    for (const title of ['First', 'Second', 'Third'])
      await mesh.call(taskHumanEndpoints.taskGive, { body: { to: 'scribe', title } })
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/work')
    await page.getByRole('button', { name: 'Several …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: /^First/ }).check()
    await dialog.getByRole('checkbox', { name: /^Second/ }).check()
    await picture('work-several')
    await dialog.getByRole('button', { name: 'Cancel 2 …' }).click()
    await dialog.getByRole('button', { name: 'Cancel 2 tasks' }).click()
    await page.locator('.toast').getByText('2 tasks cancelled.').waitFor()
    const { tasks } = (await mesh.call(meshHumanEndpoints.tasks)).json() as {
      tasks: { title: string; state: string }[]
    }
    const stateOf = (title: string) => tasks.find((task) => task.title === title)?.state
    expect([stateOf('First'), stateOf('Second')]).toEqual(['cancelled', 'cancelled'])
    expect(stateOf('Third')).not.toBe('cancelled')
    expect(faults).toEqual([])
    await context.close()
  })

  it('open runs are stopped at once, and one that fails is named with its reason', async () => {
    await mesh.call(taskHumanEndpoints.taskGive, { body: { to: 'scribe', title: 'Fourth' } })
    for (const session of ['one', 'two', 'three']) await mesh.submit('slow', { agent: 'scribe', session })
    const states = async () => {
      const { runs } = (
        await mesh.call(meshHumanEndpoints.runs, { query: { agent: 'scribe', limit: 3 } })
      ).json() as {
        runs: { id: string; state: string }[]
      }
      return runs
    }
    const [last] = await states()
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    const dialog = page.getByRole('dialog')
    await open('/runs?agent=scribe')
    await page.getByRole('button', { name: /^Stop \d+ open runs …/ }).click()
    const list = dialog.getByRole('list', { name: 'What it is done to' })
    await list.getByText('slow').first().waitFor()
    await list.getByText('Task: Fourth').waitFor()
    expect(await wrongWith(watched, 'runs-stop')).toEqual([])
    await page.route(`**/runs/${last?.id}/cancel`, (route) => route.abort())
    const button = dialog.getByRole('button', { name: /^Stop \d+ runs$/ })
    const [all = ''] = /\d+/.exec((await button.textContent()) ?? '') ?? []
    await button.click()
    await page
      .locator('.toast')
      .getByText(`${Number(all) - 1} runs stopped.`)
      .waitFor()
    await page
      .locator('.toast')
      .getByText(new RegExp(`^1 of ${all} runs failed\\. slow: `))
      .waitFor()
    expect((await states()).filter(({ state }) => state !== 'cancelled').map(({ id }) => id)).toEqual([
      last?.id,
    ])
    await mesh.call(meshHumanEndpoints.runCancel, { params: { id: last?.id ?? '' } })
    expect(faults).toEqual([])
    await context.close()
  })

  it('activity has a line for each run, and leads to the approval that a run waits for', async () => {
    await mesh.submit('remove tryout')
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/fleet')
    const line = page
      .getByRole('list', { name: 'Newest runs' })
      .getByRole('listitem')
      .filter({ hasText: 'remove tryout' })
    await line.getByText('waits for').waitFor()
    expect(await wrongWith(watched, 'fleet-activity')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await line.getByRole('link', { name: 'your approval' }).click()
    await page.getByText('is stopped and removed').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('what a run changed in /data is on its page, and on the page of its agent', async () => {
    const run = await mesh.ask('keep', { agent: 'courier' })
    expect(run.state).toBe('done')
    const kept = await mesh.ask('write a note', { agent: 'tryout' })
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open(`/runs/${kept.id}`)
    const changes = page.getByRole('region', { name: 'Changed in /data' })
    await changes.getByRole('listitem').filter({ hasText: 'notes/today.md' }).getByText('made').waitFor()
    expect(await wrongWith(watched, 'run-changed-files')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await open('/agents/tryout?tab=files')
    await page.getByRole('region', { name: 'Changed by its last runs' }).locator('summary').first().click()
    await page.getByRole('list', { name: 'Changed files' }).getByText('notes/today.md').waitFor()
    expect(await wrongWith(watched, 'agent-changed-files')).toEqual([])
    await open(`/runs/${run.id}`)
    await page.getByText('The run called no tool').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('the packages of an agent are set on its page with the owner’s proof, and taken back by Undo', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/agents/courier')
    await page.getByText('None beyond those of every agent.').waitFor()
    await page.getByRole('button', { name: 'Change … packages' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('python').check()
    await dialog.getByLabel('apt').fill('--oops')
    await dialog.getByText(/^apt: an apt package is a name/).waitFor()
    await dialog.getByLabel('apt').fill('ripgrep, jq')
    await watched.picture('agent-packages-form')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.locator('.added').getByText('apt ripgrep').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await giveProof(mesh, page)
    await page.locator('.toast').getByText('The packages of courier are changed').waitFor()
    await page.getByText('apt jq, apt python3-pip, apt python3-venv, apt ripgrep').waitFor()
    const own = async () =>
      (await mesh.call(packagesHumanEndpoints.agentPackages, { params: { id: 'courier' } })).json()['own']
    expect(await own()).toEqual({ apt: ['ripgrep', 'jq'], toolboxes: ['python'] })
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.toast').getByText('are as they were').waitFor()
    expect(await own()).toEqual({})
    expect(await wrongWith(watched, 'agent-resources')).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('what drives an agent is chosen on its page, with its package, and taken back by Undo', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/agents/tryout')
    const part = page.getByRole('region', { name: 'Harness' })
    await part.getByText('its own loop').waitFor()
    await page.getByRole('button', { name: 'Change … what drives it' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Driven by').selectOption('opencode')
    await watched.picture('agent-harness-form')
    await dialog.getByRole('button', { name: 'Review change' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await giveProof(mesh, page)
    await page.locator('.toast').getByText('The next run of tryout is driven by opencode.').waitFor()
    await part.getByText('opencode', { exact: true }).waitFor()
    await page.getByText('npm opencode-ai').waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.toast').getByText('driven by its own loop again').waitFor()
    const set = await mesh.call(agentHarnessEndpoints.agentHarness, { params: { id: 'tryout' } })
    expect(set.json()['harness']).toBeNull()
    expect(await wrongWith(watched, 'agent-harness')).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('the size of an agent is set on its page by the keyboard alone, and taken back by Undo', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    const set = async () =>
      (await mesh.call(agentSizeEndpoints.agentSize, { params: { id: 'courier' } })).json()['set']
    await open('/agents/courier')
    const part = page.getByRole('region', { name: 'Size', exact: true })
    await part.getByText(/of 384\.0 MB|^384\.0 MB/).waitFor()
    await part.getByRole('button', { name: 'Change … size' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await expect.poll(() => page.locator(':focus').getAttribute('placeholder')).toBe('384 (default)')
    await page.keyboard.type('64')
    await dialog.getByText('Memory: write a whole number from 128').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('1024')
    await watched.picture('agent-size-form')
    await page.keyboard.press('Enter')
    await dialog.locator('.added').getByText('Memory: 1024 MB').waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.toast').getByText('The size of courier is changed').waitFor()
    await part.getByText(/1\.0 GB/).waitFor()
    expect(await set()).toEqual({ memory_mb: 1024 })
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).press('Enter')
    await page.locator('.toast').getByText('is as it was').waitFor()
    expect(await set()).toEqual({})
    expect(await wrongWith(watched, 'agent-size')).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('an undo that fails for all agents is reported with its reason, and not as done', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    await page.getByRole('button', { name: 'Several agents …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: /^scribe/ }).check()
    await dialog.getByRole('button', { name: 'Pause 1 …' }).click()
    await dialog.getByRole('button', { name: 'Pause 1 agent' }).click()
    await page.route(`**${pauseEndpoints.resume.path}`, (route) => route.abort())
    const toast = page.locator('.toast')
    await toast.getByRole('button', { name: 'Undo' }).click()
    await toast.getByText(/^Undo: 1 of 1 agent failed\. scribe: /).waitFor()
    expect(await toast.getByText(/resumed/).count()).toBe(0)
    await page.unroute(`**${pauseEndpoints.resume.path}`)
    await mesh.call(pauseEndpoints.resume, { body: { agent_id: 'scribe' } })
    expect(faults).toEqual([])
    await context.close()
  })

  it('of several approved actions, one that fails is reported with its reason and not as carried out', async () => {
    await mesh.submit('remove tryout', { session: 'tryout' })
    await mesh.submit('remove courier', { session: 'courier' })
    await expect.poll(() => pendingIds(mesh)).toHaveLength(2)
    const { pending } = (await mesh.call(controlEndpoints.pending)).json() as {
      pending: { id: string; subject: string }[]
    }
    const ofCourier = pending.find(({ subject }) => subject === 'courier')
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/approvals')
    await page.getByRole('button', { name: 'Decide several …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: /delete agent tryout/ }).check()
    await dialog.getByRole('checkbox', { name: /delete agent courier/ }).check()
    await dialog.getByRole('button', { name: 'Approve 2 …' }).click()
    // The mesh answers in this form if the action fails after its confirmation.
    const failed = { ...ofCourier, state: 'failed', detail: 'the disk is full' }
    await page.route(`**/pending/${ofCourier?.id}/confirm`, (route) => route.fulfill({ json: failed }))
    await dialog.getByRole('button', { name: 'Approve 2 requests' }).click()
    await giveProof(mesh, page)
    await page.locator('.toast').getByText('1 request approved.').waitFor()
    await page
      .locator('.toast')
      .getByText(/^1 of 2 requests failed\. delete agent courier.*: The disk is full\./)
      .waitFor()
    const one = page.locator('.card').filter({ hasText: 'Delete agent: courier' })
    await one.getByRole('button', { name: 'Approve …' }).click()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.toast').getByText('The disk is full.', { exact: true }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})
