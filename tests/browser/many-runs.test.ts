import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyRuns } from '../../bench/dashboard-ground.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

/** More runs than the mesh searches for one request. */
const runsCopied = 10_400

describe.skipIf(!hasBrowser)('a ledger of many runs', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([
      startMesh({ cassettes: { many: aCassette({ when: '.', turns: [says('Well.')] }) } }),
      openBrowser(),
    ])
    await mesh.createWorker('scribe')
    await mesh.ask('Where is the needle?', { agent: 'scribe' })
    const { id } = await mesh.ask('Where is the hay?', { agent: 'scribe' })
    copyRuns(join(mesh.home, 'data', 'mesh.db'), { of: id, agents: ['scribe'], runs: runsCopied })
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('a ledger of many runs is searchable to its oldest run, page by page, by a link that can be shared', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/runs')
    const list = page.getByRole('region', { name: 'Runs' })
    const older = page.getByRole('button', { name: 'Older' })
    const newer = page.getByRole('button', { name: 'Newer' })
    await list.getByText('Where is the hay?').first().waitFor()
    expect(await newer.isDisabled()).toBe(true)
    const first = await list.getByRole('link').first().getAttribute('href')
    await older.click()
    await expect.poll(() => list.getByRole('link').first().getAttribute('href')).not.toBe(first)
    await newer.click()
    await expect.poll(() => list.getByRole('link').first().getAttribute('href')).toBe(first)
    await page.getByRole('searchbox', { name: 'Search runs' }).fill('the NEEDLE')
    // The run is not among those that one request searches.
    await page.getByText('Older searches further back').waitFor()
    await older.click()
    await list.getByText('Where is the needle?').waitFor()
    expect(await older.isDisabled()).toBe(true)
    await page.getByLabel('State').selectOption('failed')
    await page.getByText('No run matches').waitFor()
    expect(new URL(page.url()).search).toBe('?find=the+NEEDLE&state=failed')
    await page.reload()
    await page.getByText('No run matches').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})
