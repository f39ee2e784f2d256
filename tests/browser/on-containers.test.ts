import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { labelKeys } from '../../packages/mesh/src/sandbox/docker/container-options.ts'
import { homeTag } from '../../packages/mesh/src/sandbox/sandbox-spec.ts'
import { engineOfThisMachine, withEngine } from '../docker/sandbox-lane.ts'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

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
      mesh = await startMesh({ runtime: 'docker', environment, cassettes: { containers: cassette } })
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

    it.skipIf(!hasBrowser)(
      'an agent is made, talked to, shown a picture, started anew and deleted, and its container follows',
      async () => {
        const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
        page.setDefaultTimeout(patient(60_000))
        await mesh.createWorker('scribe', { role: 'Writes down where it is.' })
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
        await page.getByRole('button', { name: 'Start anew' }).click()
        await page.getByText('scribe was started anew.').waitFor()
        const after = await eventually('it runs in another container', async () => {
          const [now] = await containersOf('scribe')
          return now !== undefined && now.State === 'running' && now.Id !== before?.Id ? now : null
        })
        expect(after.Image).toBe(before?.Image)

        const runId = await mesh.submit('remove scribe')
        await open('/approvals')
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
