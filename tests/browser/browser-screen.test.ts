import { flotilla } from '../support/flotilla-command.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startShop } from '../docker/browser-shop.ts'
import type { Shop } from '../docker/browser-shop.ts'
import { engineOfThisMachine, withEngine } from '../docker/sandbox-lane.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { heedsLesson } from '../verifies.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const found = await engineOfThisMachine()

withEngine(
  'the browser of an agent in that of a person',
  () => {
    let mesh: MeshProcess
    let shop: Shop
    let browser: Browser
    beforeAll(async () => {
      shop = await startShop()
      mesh = await startMesh({
        runtime: 'docker',
        environment: { FLOTILLA_NO_INSTALL: '1' },
        cassettes: { quiet: aCassette({ turns: [says('Yes.')] }) },
        settings: { egress: shop.egress },
      })
      browser = await openBrowser()
      await mesh.createWorker('ada')
      await flotilla(mesh, 'permissions', 'set', 'ada', 'can_use_browser=true')
    }, patient(900_000))
    afterAll(async () => {
      await browser?.close()
      await mesh?.stop()
      await shop?.close()
    })

    const navigate = async (url: string): Promise<string> =>
      JSON.stringify((await mesh.invoke('ada', 'browser_navigate', { url })).outcome)
    /** Counts the colors of the screen; a picture has more than one. */
    const colors = (page: Page): Promise<number> =>
      page.evaluate<number>(`(() => {
        const canvas = document.querySelector('canvas')
        if (canvas === null || canvas.width < 100) return 0
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
        const seen = new Set()
        for (let at = 0; at < data.length && seen.size < 9; at += 4 * 97) seen.add(data[at] + ',' + data[at + 1] + ',' + data[at + 2])
        return seen.size
      })()`)
    const press = async (page: Page): Promise<void> => {
      const box = await page.locator('canvas').boundingBox()
      if (box === null) throw new Error('there is no screen')
      await page.mouse.click(box.x + box.width / 2, box.y + (box.height * 2) / 3)
    }
    /** Waits until the header of the screen shows this text. */
    const stands = (page: Page, words: string | RegExp) => page.locator('#state').getByText(words).waitFor()

    it.runIf(hasBrowser)(
      "an agent's browser screen is seen by who may look, and used by its owner once they took over",
      async () => {
        heedsLesson(120)
        let told = await navigate(shop.buttonUrl)
        // The first browser of a machine has to wait until its image is built.
        for (let tries = 0; tries < 15 && told.includes('browser-unavailable'); tries++)
          told = await navigate(shop.buttonUrl)
        expect(told).toContain('Button')

        const owner = await openPage(browser, mesh.url)
        await owner.openWhole('/agents/ada', 'shop.outside.test')
        const card = owner.page.getByRole('region', { name: 'Browser' })
        await card.getByAltText('What the browser of ada shows').waitFor()
        const [own] = await Promise.all([
          owner.context.waitForEvent('page'),
          card.getByRole('link', { name: 'Whole screen' }).click(),
        ])
        await expect.poll(() => colors(own)).toBeGreaterThan(1)
        await stands(own, 'the agent has it')
        await press(own)

        const added = await flotilla(mesh, 'people', 'add', 'vic', '--role', 'viewer')
        const token = /flp_[\w-]+/.exec(added.out)?.[0] ?? ''
        expect(token).not.toBe('')
        const viewer = await openPage(browser, mesh.url)
        await viewer.context.setExtraHTTPHeaders({ authorization: `Bearer ${token}` })
        await viewer.page.goto(`${mesh.url}/agent-vnc/ada/`)
        await expect.poll(() => colors(viewer.page)).toBeGreaterThan(1)
        await viewer.page.getByRole('button', { name: 'Take over' }).click()
        await stands(viewer.page, /viewer/i)

        await own.getByRole('button', { name: 'Take over' }).click()
        await stands(own, /has it; the agent waits/)
        await stands(viewer.page, /has it; the agent waits/)
        expect(JSON.stringify(await mesh.invoke('ada', 'browser_snapshot', {}))).toContain('waits-for-person')
        await press(viewer.page)
        await press(own)
        await expect.poll(shop.pressed).toBe(1)
        await own.getByRole('button', { name: 'Give back' }).click()
        await stands(own, 'the agent has it')
        await press(own)
        expect(JSON.stringify(await mesh.invoke('ada', 'browser_snapshot', {}))).toContain('Press')
        expect(shop.pressed()).toBe(1)
        expect([...owner.faults, ...viewer.faults]).toEqual([])
        await owner.context.close()
        await viewer.context.close()
      },
      patient(600_000),
    )
  },
  found,
)
