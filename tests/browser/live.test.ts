import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createMeshClient } from '@flotilla/client/mesh-client'
import type { Browser, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startEventPages } from '../support/event-pages.ts'
import { heedsLesson } from '../verifies.ts'
import { pendingIds, startDashboardFleet } from './dashboard-fleet.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const eventsTold = process.env['FLOTILLA_SOAK'] === '1' ? 5000 : 2000
/** Events that are published at once. */
const together = 100
const perMinute = 20_000

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

  it('visible pages show what waits for a person wherever one is, and let it happen exactly as it was shown', async () => {
    const { page, open, picture, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    await page.getByRole('heading', { name: 'tryout' }).waitFor()
    await page.locator('[data-line=live]').waitFor()
    const runId = await mesh.submit('remove tryout')
    await page.getByRole('link', { name: /Approvals 1 waiting/ }).click()
    await page.getByText('All its files below /data').first().waitFor()
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

  it('keep up with more than ten thousand events a minute over their socket, and ask for their lists no more often for it, and no more seldom', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flotilla-told-'))
    const told = await startEventPages(mesh, folder)
    const { page, open, faults, context } = await openPage(browser, told.url)
    try {
      await open('/fleet')
      await page.locator('[data-line=live]').first().waitFor()
      await page.getByRole('heading', { name: 'scribe' }).waitFor()
      await page.getByText('Every event').click()
      const asked: number[] = []
      const brokenOff: string[] = []
      page.on('request', (request) => {
        if (request.url().endsWith('/api/status')) asked.push(performance.now())
      })
      page.on('requestfailed', (request) => brokenOff.push(request.url()))
      const drawn = async () =>
        Math.max(
          0,
          ...[
            ...(await page.getByRole('list', { name: 'Newest events' }).innerText()).matchAll(/step (\d+)/g),
          ].map(([, number]) => Number(number)),
        )
      const seen = new Set<number>()
      const startedAt = performance.now()
      for (let number = 1; number <= eventsTold; number++) {
        told.tell({ type: 'agent.warned', agent_id: 'scribe', message: `step ${number} of many` })
        if (number % together !== 0) continue
        await delay(Math.max(0, startedAt + number * (60_000 / perMinute) - performance.now()))
        seen.add(await drawn())
      }
      const tookMs = performance.now() - startedAt
      await expect.poll(drawn).toBe(eventsTold)
      // The page drew events all the time, and not only at the end.
      expect(seen.size).toBeGreaterThan(3)
      const pauses = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
      expect(asked.length).toBeGreaterThan(2)
      expect(asked.length).toBeLessThanOrEqual(tookMs / 500 + 2)
      expect(pauses.filter((pause) => pause < 300)).toEqual([])
      expect(brokenOff).toEqual([])
      expect(faults).toEqual([])
    } finally {
      await context.close()
      await told.close()
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('visible pages miss nothing when their socket breaks: it is opened again from the last number, and each event comes once', async () => {
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
        // The page receives nothing from a socket that it has lost, although the mesh still sends.
        if (refused || socket !== last) return
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
    await page.getByText('Every event').click()
    await page
      .getByRole('list', { name: 'Newest events' })
      .getByText('was created: Works in a test.')
      .waitFor()
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
