import { describe, expect, it, onTestFinished } from 'vitest'
import { askScripted, startBilledMesh } from '../support/billed-conversation.ts'
import { startCachingProvider } from '../support/caching-provider.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('savings of prompt caches in the browser', () => {
  it('the pages of costs and of an agent show what the cache saved', async () => {
    const provider = await startCachingProvider('anthropic')
    onTestFinished(() => provider.close())
    const mesh = await startBilledMesh('anthropic', provider)
    onTestFinished(() => mesh.stop())
    const bills = await askScripted(mesh, provider, { agent: 'operator', turn: 0, commands: 2 })
    const browser = await openBrowser()
    onTestFinished(() => browser.close())
    const { page, open, picture } = await openPage(browser, mesh.url)
    const sum = (field: 'read' | 'tokens') => bills.reduce((total, bill) => total + bill[field], 0)
    const hitRate = `${Math.round((sum('read') / sum('tokens')) * 100)} %`

    await open('/costs')
    const saved = page.locator('.figure', { hasText: 'Saved by cache' })
    await saved.getByText(`${hitRate} of the tokens read`).waitFor()
    expect(await saved.locator('.value').textContent()).toMatch(/^\$0\.0\d+$/)
    const row = page.locator('tr', { hasText: 'operator' })
    expect(await row.locator('[data-label="From the cache"]').textContent()).toBe(hitRate)

    // The same costs by kind of run and by hour, with a bar for each hour of the days.
    const dollars = await row.locator('[data-label="Dollars"]').textContent()
    await page.getByLabel('Group by').selectOption('kind')
    const ofChats = page.getByRole('region', { name: 'By kind of run' }).locator('tr', { hasText: 'chat' })
    expect(await ofChats.locator('[data-label="Dollars"]').textContent()).toBe(dollars)
    await page.getByLabel('Group by').selectOption('hour')
    await page.getByRole('region', { name: 'Dollars an hour' }).locator('canvas').waitFor()
    expect(await page.getByLabel('Days').locator('option').allInnerTexts()).toEqual(['1 day', '7 days'])
    await picture('costs-by-hour')

    await open('/agents/operator')
    await page.getByText('Prompt cache').waitFor()
    await page.getByText(`${hitRate} of the tokens read`).waitFor()
  })
})
