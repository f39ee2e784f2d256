import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keptEndpoints } from '@flotilla/protocol/kept-api'
import { setupEndpoints } from '@flotilla/protocol/setup-api'
import type { Browser, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { labelKeys } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { engineOfThisMachine, withEngine } from '../docker/sandbox-lane.ts'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { fireHook } from './fire-hook.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'
import type { WatchedPage } from './open-browser.ts'

const cassette = aCassette(
  {
    agents: ['scribe'],
    when: 'where are you',
    turns: [
      runs('echo "I am $(id -u)"; touch /etc/x || echo "nothing is written there"'),
      says('In a container of my own.'),
    ],
  },
  {
    agents: ['scribe'],
    when: 'look at the chart',
    turns: [
      runs('cp uploads/*-chart.png chart.png; file=$?; echo "copied $file"'),
      calls('view_image', { path: 'chart.png' }),
      says('It goes up.'),
    ],
  },
  {
    agents: ['scribe'],
    when: 'The shop is on fire',
    turns: [runs('echo heard'), says('I heard of the shop.')],
  },
  { agents: ['scribe'], when: 'Water the plants', turns: [runs('echo water'), says('They are watered.')] },
  {
    agent_kind: 'operator',
    when: '^remove scribe$',
    turns: [
      calls('delete_agent', { agent_id: 'scribe', reason: 'Its work is done.' }),
      says('It waits for you.'),
    ],
  },
  { agent_kind: 'operator', when: 'What you asked a person for', turns: [says('So it is done.')] },
  { turns: [says('Yes.')] },
)
const found = await engineOfThisMachine()

withEngine(
  'pages over agents in containers',
  (engine) => {
    let mesh: MeshProcess
    let browser: Browser
    let homeId: string
    beforeAll(async () => {
      const environment = { FLOTILLA_NO_INSTALL: '1' }
      // The settings name no default model.
      const settings = { default_model: undefined }
      mesh = await startMesh({
        runtime: 'docker',
        environment,
        settings,
        cassettes: { containers: cassette },
      })
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      browser = await openBrowser()
    }, patient(200_000))
    afterAll(async () => {
      await browser?.close()
      await mesh?.stop()
    }, patient(100_000))

    const containersOf = (agent: string) =>
      engine.docker.listContainers({
        filters: { label: [`${labelKeys.home}=${homeTag(homeId)}`, `${labelKeys.agent}=${agent}`] },
      })

    const openSlow = async (): Promise<WatchedPage> => {
      const watched = await openPage(browser, mesh.url)
      watched.page.setDefaultTimeout(patient(60_000))
      return watched
    }
    // The tests share one fleet; each continues with what the one before created.

    it.skipIf(!hasBrowser)(
      'the first run leads to a model, and an agent is made, changed and changed back',
      async () => {
        const { page, open, faults, context } = await openSlow()
        await open('/')
        await page.getByRole('heading', { name: 'Welcome' }).waitFor()
        await page.getByRole('button', { name: 'Show me a recording' }).click()
        await page.getByRole('button', { name: 'Play the recording' }).click()
        await page.getByText('scripted/first-look').waitFor()
        // From here on a scripted model answers.
        await mesh.call(setupEndpoints.setupModel, { body: { model: 'scripted/containers' } })
        await open('/fleet')
        await page.getByRole('button', { name: 'New agent …' }).first().click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Name').fill('scribe')
        await dialog.getByLabel('Role').fill('Writes down where it is.')
        await dialog.getByRole('button', { name: 'Create' }).click()
        await page.getByRole('heading', { name: 'scribe', level: 1 }).waitFor()
        await page.getByRole('tab', { name: 'Identity' }).click()
        const text = page.getByRole('textbox', { name: 'Text of INSTRUCTIONS.md' })
        await text.fill('Say it kindly.')
        await page.getByRole('button', { name: 'Review change' }).click()
        await page.getByRole('button', { name: 'Save' }).click()
        await page.locator('.toast').getByText('INSTRUCTIONS.md saved').waitFor()
        const written = async () => {
          const file = { id: 'scribe', file: 'INSTRUCTIONS.md' }
          return String((await mesh.call(keptEndpoints.identityFile, { params: file })).json()['content'])
        }
        expect(await written()).toBe('Say it kindly.')
        await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
        await page.locator('.toast').getByText('The change of scribe is undone.').waitFor()
        expect(await written()).not.toContain('Say it kindly.')
        expect(faults).toEqual([])
        await context.close()
      },
    )

    it.skipIf(!hasBrowser)(
      'an agent on the dashboard is talked to, shown a picture and started anew, in a container of its own',
      async () => {
        const { page, open, picture, faults, context } = await openSlow()
        await open('/chat/scribe')
        const log = page.getByRole('log', { name: 'Messages' })
        const say = async (words: string) => {
          await page.getByRole('textbox').last().fill(words)
          await page.keyboard.press('Enter')
        }

        await say('where are you?')
        await log.getByText('In a container of my own.').waitFor()
        await log.locator('details.tool summary').first().click()
        const result = log.getByRole('region', { name: 'Result of run_command' })
        expect(await result.textContent()).toMatch(/I am 1000[^]*nothing is written there/)
        const [before] = await containersOf('scribe')
        expect(before?.State).toBe('running')

        await page
          .getByLabel('Files for scribe', { exact: true })
          .setInputFiles([{ name: 'chart.png', mimeType: 'image/png', buffer: await page.screenshot() }])
        await page.getByRole('list', { name: 'Attached files' }).getByText('chart.png').waitFor()
        await say('look at the chart')
        await log.getByText('It goes up.').waitFor()
        const seen = log.locator('.seen-picture img')
        const widthOf = () => seen.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth)
        await expect.poll(widthOf).toBe(1280)
        await picture('containers-chat')

        await open('/agents/scribe')
        await page.getByRole('button', { name: 'Restart' }).click()
        await page.getByText('scribe was restarted.').waitFor()
        const after = await eventually('it runs in another container', async () => {
          const [now] = await containersOf('scribe')
          return now !== undefined && now.State === 'running' && now.Id !== before?.Id ? now : null
        })
        expect(after.Image).toBe(before?.Image)
        expect(faults).toEqual([])
        await context.close()
      },
    )

    it.skipIf(!hasBrowser)(
      'a webhook that curl fires and a job by the clock set it to work, and each shows its run',
      async () => {
        const { page, open, picture, faults, context } = await openSlow()
        await open('/settings/integrations')
        await page.getByRole('button', { name: 'New webhook …' }).click()
        await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Alerts of the shop')
        await page.getByRole('combobox', { name: 'Agent' }).selectOption('scribe')
        await page.getByLabel('What the agent does with an event').fill('The shop is on fire.')
        await page.getByRole('button', { name: 'Create webhook' }).click()
        const secret = (await page.locator('code.secret').textContent()) ?? ''
        const url = (await page.locator('code.path').textContent()) ?? ''
        expect(await fireHook(url, secret, '{"where":"cellar"}')).toMatch(/ 202/)
        await page.getByRole('button', { name: 'I have it' }).click()

        await open('/triggers')
        const dialog = page.getByRole('dialog')
        await page.getByRole('button', { name: 'New job …' }).click()
        await dialog.getByLabel('Agent', { exact: true }).selectOption('scribe')
        await dialog.getByLabel('Schedule').fill('every 5s')
        await dialog.getByText('Every 5 seconds').waitFor()
        await dialog.getByLabel('Message to the agent').fill('Water the plants.')
        await dialog.getByRole('button', { name: 'Review change' }).click()
        await dialog.getByRole('button', { name: 'Save' }).click()
        const row = page.getByRole('row').filter({ hasText: 'Water the plants.' })
        await row.getByRole('button', { name: 'Why and when' }).click()
        const history = page.getByRole('region', { name: 'History' })
        const runLink = history.getByRole('link', { name: /Its run/ }).last()
        await runLink.waitFor()
        await row.getByRole('button', { name: 'Pause' }).click()
        await row.getByText('paused').waitFor()
        await picture('containers-triggers')
        await runLink.click()
        await page.getByText('They are watered.').first().waitFor()

        await open('/runs?from=webhook')
        await page.getByText('Webhook Alerts of the shop').first().click()
        await page.getByText('I heard of the shop.').first().waitFor()
        expect(faults).toEqual([])
        await context.close()
      },
    )

    it.skipIf(!hasBrowser)(
      'a page whose socket breaks shows every missed event after it reconnects',
      async () => {
        const { page, open, faults, context } = await openSlow()
        const opened: string[] = []
        let last: WebSocketRoute | undefined
        let refused = false
        await page.routeWebSocket(/\/ws\/events/, (socket) => {
          opened.push(socket.url())
          if (refused) return void socket.close()
          last = socket
          socket.connectToServer()
        })
        await open('/fleet')
        await page.locator('[data-line=live]').waitFor()
        refused = true
        await last?.close()
        await page.locator('[data-line=broken]').waitFor()
        await mesh.createWorker('meanwhile')
        refused = false
        await page.locator('[data-line=live]').waitFor()
        await page.getByRole('heading', { name: 'meanwhile' }).waitFor()
        await page.getByText('Every event').click()
        await page
          .getByRole('list', { name: 'Newest events' })
          .getByText('was created: Works in a test.')
          .waitFor()
        expect(opened.at(-1)).toMatch(/since=[1-9]/)
        expect(faults).toEqual([])
        await context.close()
      },
    )

    it.skipIf(!hasBrowser)(
      'what the operator asks for is approved with the owner’s proof, and its container goes',
      async () => {
        const { page, open, faults, context } = await openSlow()
        const runId = await mesh.submit('remove scribe')
        await open('/approvals')
        await page.getByText('Deleting the agent calls no model and costs nothing.').first().waitFor()
        await page
          .getByText(
            /^The run of operator that requested this continues whatever you decide.* for \d+ calls?/,
          )
          .first()
          .waitFor()
        await page.getByRole('button', { name: 'Approve …' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
        await giveProof(mesh, page)
        await page.getByText('Nothing waits for you').waitFor()
        expect((await mesh.ended(runId)).state).toBe('done')
        await eventually('its container is gone', async () => (await containersOf('scribe')).length === 0)
        expect(faults).toEqual([])
        await context.close()
      },
    )
  },
  found,
)
