import type { BrowserView } from '@flotilla/protocol/browser-api'
import type { Browser, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { wrongWith } from './every-view.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const asking: BrowserView = {
  agent_id: 'operator',
  state: 'live',
  since: 1,
  reason: null,
  page: {
    url: 'https://shop.example/',
    title: '<img src=x onerror=alert(1)>',
    host: 'shop.example',
    tabs: 2,
  },
  acting: false,
  watchers: 0,
  hand_over: { kind: 'captcha', by: null, since: 1 },
  screen: '/agent-vnc/operator/',
}

/** An image of one pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe.skipIf(!hasBrowser)('the browser of an agent on its page', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startMesh(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('the browser of an agent on its page is taught where it may have none, and is taken over and given back where it asks for a person', async () => {
    const looked = await openPage(browser, mesh.url)
    const { page } = looked
    const card = page.getByRole('region', { name: 'Browser' })
    await looked.openWhole('/agents/operator', 'can_use_browser')

    // This mesh has no containers, so the test answers the page's calls about browsers itself.
    let view = asking
    const asked: string[] = []
    let pictures = 0
    await page.route('**/api/agents/operator/browser/picture', (route) => {
      pictures++
      return route.fulfill({ body: pixel, contentType: 'image/png' })
    })
    await page.route('**/api/browsers', (route) =>
      route.fulfill({ json: { unavailable: null, max_live: 2, browsers: [view] } }),
    )
    await page.route(/\/browser\/(?:take-over|give-back|close)$/, (route) => {
      const what = new URL(route.request().url()).pathname.split('/').at(-1) ?? ''
      asked.push(what)
      const hand_over =
        what === 'take-over' ? ({ kind: 'captcha', by: 'human:dashboard', since: 1 } as const) : null
      view = { ...view, hand_over }
      if (what === 'close') view = { ...view, state: 'closed', page: null }
      return route.fulfill({ json: what === 'close' ? { ...view, was_open: true } : view })
    })
    await looked.openWhole('/approvals', 'Browser of operator')
    await page.getByRole('link', { name: /Approvals 1 waiting/ }).waitFor()
    await page.getByRole('link', { name: 'Open the agent' }).click()
    await card.getByText('asks for a person').waitFor()
    await card.getByText('<img src=x').waitFor()
    await card.getByAltText('What the browser of operator shows').waitFor()
    await expect.poll(() => pictures).toBeGreaterThan(1)
    await card.scrollIntoViewIfNeeded()
    expect(await wrongWith(looked, 'agent-browser')).toEqual([])
    expect(await card.getByRole('link', { name: 'Whole screen' }).getAttribute('href')).toBe(
      '/agent-vnc/operator/',
    )
    await card.getByRole('button', { name: 'Take over' }).click()
    await card.getByText('owner (dashboard) controls the browser').waitFor()
    expect(await card.getByRole('button', { name: 'Take over' }).count()).toBe(0)
    await card.getByRole('button', { name: 'Give back' }).click()
    await card.getByText('live', { exact: true }).waitFor()
    await card.getByRole('button', { name: 'Close' }).click()
    await card.getByText('closed', { exact: true }).waitFor()
    await page.locator('.toast').getByText('its next use restores the tabs').waitFor()
    expect(await card.getByRole('link', { name: 'Whole screen' }).count()).toBe(0)
    expect(await card.getByRole('img').count()).toBe(0)
    expect(asked).toEqual(['take-over', 'give-back', 'close'])
    await looked.context.close()
  })

  it('the browser of an agent on its page says why it failed, and what was downloaded while one looked', async () => {
    const looked = await openPage(browser, mesh.url)
    const { page } = looked
    const card = page.getByRole('region', { name: 'Browser' })
    let socket: WebSocketRoute | undefined
    await page.routeWebSocket(/\/ws\/events/, (opened) => {
      socket = opened
      opened.connectToServer()
    })
    const reason =
      'browser-walls-open: the network filter of browsers does not work: agents-closed (<b>x</b>)'
    const failed: BrowserView = { ...asking, state: 'failed', reason, page: null, hand_over: null }
    await page.route('**/api/browsers', (route) =>
      route.fulfill({ json: { unavailable: null, max_live: 2, browsers: [failed] } }),
    )
    await looked.openWhole('/agents/operator', 'browser-walls-open')
    await card.getByText('failed', { exact: true }).waitFor()
    await card.getByText('agents-closed (<b>x</b>)').waitFor()
    expect(await card.getByText('Downloaded lately').count()).toBe(0)
    expect(await card.getByRole('button', { name: 'Close' }).count()).toBe(0)
    const tell = (seq: number, agent_id: string, path: string): void => {
      const body = { type: 'browser.downloaded', agent_id, path, size_bytes: 2048, host: 'shop.example' }
      socket?.send(JSON.stringify({ type: 'event', event: { seq, at: 1, body } }))
    }
    tell(1_000_000, 'somebody', 'downloads/other.pdf')
    for (let nth = 1; nth <= 6; nth++) tell(1_000_000 + nth, 'operator', `downloads/bill-${nth}.pdf`)
    const list = card.getByRole('region', { name: 'Downloaded lately' })
    await list.getByText('downloads/bill-6.pdf').waitFor()
    const lines = await list.locator('p').allInnerTexts()
    expect(lines.map((line) => /bill-\d/.exec(line)?.[0])).toEqual(
      [6, 5, 4, 3, 2].map((nth) => `bill-${nth}`),
    )
    expect(lines[0]).toMatch(/from shop\.example, 2/)
    expect(await wrongWith(looked, 'agent-browser-failed')).toEqual([])
    await looked.context.close()
  })
})
