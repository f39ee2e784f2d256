import { controlEndpoints } from '@flotilla/protocol/control-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { wrongWith } from './every-view.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const agentsMade = 120
/** Most cards that may be drawn; the others are drawn when they scroll into view. */
const cardsDrawnMax = 60

describe.skipIf(!hasBrowser)('a fleet of many agents', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startMesh(), openBrowser()])
    for (let one = 1; one <= agentsMade; one++) {
      await mesh.createWorker(`worker-${String(one).padStart(3, '0')}`, { role: `Reads shelf ${one}.` })
    }
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('a fleet of many agents draws the cards that are in view, and each of the others when it comes there', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, context } = watched
    await watched.openWhole('/fleet', 'Spent today')
    const cards = page.getByRole('list', { name: 'Agents' }).getByRole('listitem')
    await expect.poll(() => cards.count()).toBeGreaterThan(4)
    expect(await cards.count()).toBeLessThan(cardsDrawnMax)
    await page.mouse.move(500, 500)
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, 2000)
        return cards.getByText('Reads shelf 120.').count()
      })
      .toBe(1)
    expect(await cards.last().getAttribute('aria-setsize')).toBe(String(agentsMade + 1))
    expect(await cards.count()).toBeLessThan(cardsDrawnMax)
    // Nothing of one lies over another.
    const boxes = await Promise.all((await cards.all()).map((card) => card.boundingBox()))
    const overlaps = boxes.flatMap((one, at) =>
      boxes.slice(at + 1).filter((other) => one && other && isOver(one, other)),
    )
    expect(overlaps).toEqual([])
    expect(await wrongWith(watched, 'fleet-many')).toEqual([])
    await context.close()
  })

  it('a fleet of many agents finds one by its words, and keeps the form of one open that is out of view', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    const cards = page.getByRole('list', { name: 'Agents' }).getByRole('listitem')
    const search = page.getByRole('searchbox', { name: 'Search agents' })
    await search.fill('shelf 77.')
    await expect.poll(() => cards.count()).toBe(1)
    expect(new URL(page.url()).searchParams.get('find')).toBe('shelf 77.')
    await search.fill('no such words')
    await page.getByText('No agent matches').waitFor()
    await search.fill('')
    await page.getByRole('button', { name: 'Edit worker-001' }).click()
    const role = page.getByRole('dialog').getByLabel('Role')
    await role.fill('Reads the first shelf.')
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
    await mesh.createWorker('another', { role: 'Comes before it in the list.' })
    // The list is folded, and the dialog lies above it.
    const events = page.locator('[aria-label="Newest events"]')
    await events.getByText('another').first().waitFor({ state: 'attached' })
    expect(await role.inputValue()).toBe('Reads the first shelf.')
    await page.getByRole('button', { name: 'Review change' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    const config = async () =>
      (await mesh.call(controlEndpoints.agentConfig, { params: { id: 'worker-001' } })).json()['role']
    await expect.poll(config).toBe('Reads the first shelf.')
    expect(faults).toEqual([])
    await context.close()
  })
})

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const isOver = (one: Box, other: Box): boolean =>
  one.x + 1 < other.x + other.width &&
  other.x + 1 < one.x + one.width &&
  one.y + 1 < other.y + other.height &&
  other.y + 1 < one.y + one.height
