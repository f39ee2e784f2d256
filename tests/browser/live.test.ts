import { createMeshClient } from '@flotilla/client/mesh-client'
import type { Browser, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson } from '../verifies.ts'
import { pendingIds, startDashboardFleet } from './dashboard-fleet.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('pages that are looked at', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('show what waits for a person wherever one is, and let it happen exactly as it was shown', async () => {
    const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    await page.getByRole('heading', { name: 'tryout' }).waitFor()
    await page.locator('[data-line=live]').waitFor()
    const runId = await mesh.submit('remove tryout')
    await page.getByRole('link', { name: /Approvals 1 waiting/ }).click()
    await page.getByText('Everything below its /data is destroyed').first().waitFor()
    await page.getByRole('button', { name: 'Approve …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await picture('approve-dialog')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await pendingIds(mesh)).toHaveLength(1)
    await page.getByRole('button', { name: 'Approve …' }).click()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await giveProof(mesh, page)
    await page.getByText('Nothing waits for you').waitFor()
    expect((await mesh.ended(runId)).state).toBe('done')
    await open('/fleet')
    await page.getByRole('heading', { name: 'scribe' }).waitFor()
    expect(await page.getByRole('heading', { name: 'tryout' }).count()).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  })

  it('miss nothing when their socket breaks: it is opened again from the last number, and each event comes once', async () => {
    heedsLesson(114)
    const { page, open, context } = await openPage(browser, mesh.url)
    const opened: string[] = []
    const heard: number[] = []
    let last: WebSocketRoute | undefined
    let refused = false
    await page.routeWebSocket(/\/ws\/events/, (socket) => {
      opened.push(socket.url())
      if (refused) return void socket.close()
      last = socket
      const server = socket.connectToServer()
      server.onMessage((message) => {
        const frame = JSON.parse(String(message)) as { type: string; event?: { seq: number } }
        if (frame.event) heard.push(frame.event.seq)
        socket.send(message)
      })
    })
    await open('/fleet')
    await page.locator('[data-line=live]').waitFor()
    refused = true
    await last?.close()
    await page.locator('[data-line=broken]').waitFor()
    await mesh.createWorker('meanwhile')
    await mesh.ask('hello', { agent: 'courier' })
    const before = heard.at(-1) ?? 0
    refused = false
    await page.locator('[data-line=live]').waitFor()
    await page.getByRole('heading', { name: 'meanwhile' }).waitFor()
    await page.locator('.feed').getByText('was created: Works in a test.').waitFor()
    expect(opened.at(-1)).toContain(`since=${before}`)
    const until = heard.at(-1) ?? 0
    const kept: number[] = []
    const stop = new AbortController()
    const all = createMeshClient({ baseUrl: mesh.url }).events({ signal: stop.signal, onDropped: () => {} })
    for await (const { seq } of all) {
      kept.push(seq)
      if (seq >= until) stop.abort()
    }
    expect(kept.filter((seq) => !heard.includes(seq))).toEqual([])
    expect(heard).toEqual([...new Set(heard)].toSorted((left, right) => left - right))
    await context.close()
  })
})
