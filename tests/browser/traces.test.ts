import { json } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

async function savedBy(page: Page, press: () => Promise<void>): Promise<Record<string, unknown>> {
  const download = page.waitForEvent('download')
  await press()
  return (await json(await (await download).createReadStream())) as Record<string, unknown>
}

describe.skipIf(!hasBrowser)('runs in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  let runId = ''
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
    await mesh.ask('audit the licences', { agent: 'scribe', session: 'dashboard' })
    runId = (await mesh.ask('show me code', { agent: 'scribe', session: 'dashboard' })).id
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('runs show each span beside the waterfall: prompt and answer of a model call, arguments and result of a tool', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open(`/runs/${runId}`)
    const trace = page.getByRole('region', { name: 'Trace' })
    const firstPlace = await trace.boundingBox()
    await page.waitForLoadState('networkidle')
    // Nothing above the trace appears after it, which would move it away from under the pointer.
    expect((await trace.boundingBox())?.y).toBe(firstPlace?.y)
    await trace
      .getByRole('treeitem', { name: /^asks / })
      .last()
      .click()
    const details = trace.getByRole('region', { name: /^Details: asks / })
    await details.getByText('Tokens read').waitFor()
    await details.getByText('Request model').waitFor()
    expect(await page.title()).not.toMatch(/^Runs/)
    await details.getByRole('region', { name: 'Answer of the model' }).getByText('the needle').waitFor()
    await details.getByText('Prompt of this turn').click()
    await details
      .getByRole('region', { name: /^Request, part 1/ })
      .getByText('show me code')
      .waitFor()
    await details
      .getByRole('region', { name: /^Result of run_command/ })
      .first()
      .getByText('one')
      .waitFor()
    // The details are beside the list, and in view without scrolling within the card.
    const [list, beside] = [await trace.getByRole('tree').boundingBox(), await details.boundingBox()]
    expect(beside?.x ?? 0).toBeGreaterThanOrEqual((list?.x ?? 0) + (list?.width ?? 0))
    expect(await wrongWith(watched, 'run-model-span')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    // The address names the span.
    await page.reload()
    await details.getByText('Tokens read').waitFor()
    await trace.getByRole('searchbox', { name: 'Search in the trace' }).fill('exit 3')
    await trace.getByText('1 span found').waitFor()
    expect(await trace.getByRole('treeitem', { name: /run_command/ }).count()).toBe(1)
    expect(faults).toEqual([])
    await context.close()
  })

  it('runs are exported as JSON and OTLP, and compared with others', async () => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, mesh.url)
    await open(`/runs/${runId}`)
    const exported = await savedBy(page, () => page.getByRole('button', { name: 'Export JSON' }).click())
    expect(exported).toMatchObject({ run: { id: runId }, trace: { run_id: runId } })
    const otlp = await savedBy(page, () => page.getByRole('button', { name: 'Export OTLP' }).click())
    expect(JSON.stringify(otlp)).toMatch(/"resourceSpans":.*"traceId":"[0-9a-f]{32}"/)
    await page.getByRole('button', { name: 'Compare …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Run').selectOption({ index: 1 })
    await dialog.getByRole('button', { name: 'Compare' }).click()
    const compared = page.getByRole('region', { name: 'Compared' })
    await compared
      .getByRole('row', { name: /Tool calls/ })
      .getByText('−50 %')
      .waitFor()
    await compared
      .getByRole('region', { name: 'How the answers of the runs differ' })
      .getByText('## Licences')
      .waitFor()
    await picture('runs-compared')
    expect(await breaches()).toEqual([])
    expect(new URL(page.url()).search).toMatch(/^\?with=run_/)
    expect(faults).toEqual([])
    await context.close()
  })

  it('runs are filtered by date, sorted, and the filter is saved by a name', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/runs')
    const list = page.getByRole('region', { name: 'Runs' })
    await list.getByText('show me code').waitFor()
    await page.getByLabel('When').selectOption('last hour')
    await list.getByText('audit the licences').waitFor()
    await page.getByLabel('Order').selectOption('highest cost')
    await page.getByRole('button', { name: 'Save filter …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Of this hour')
    await dialog.getByRole('button', { name: 'Save' }).click()
    const saved = page.getByRole('link', { name: 'Of this hour' })
    await saved.waitFor()
    expect(await wrongWith(watched, 'runs-filtered')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await saved.click()
    await expect.poll(() => new URL(page.url()).search).toBe('')
    await page.getByLabel('When').selectOption('days …')
    await page.getByLabel('Last day').fill('2020-01-01')
    await page.getByText('No run matches').waitFor()
    await saved.click()
    await list.getByText('audit the licences').waitFor()
    expect(await page.getByLabel('Order').inputValue()).toBe('highest cost')
    expect(faults).toEqual([])
    await context.close()
  })
})
