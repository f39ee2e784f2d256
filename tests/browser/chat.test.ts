import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'
import { hostileText } from './dashboard-cassette.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const isFocused = (element: unknown) =>
  (globalThis as { document?: { activeElement: unknown } }).document?.activeElement === element

describe.skipIf(!hasBrowser)('a conversation in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  async function chatWith(agent: string) {
    const watched = await openPage(browser, mesh.url)
    await watched.open(`/chat/${agent}`)
    const say = async (words: string) => {
      await watched.page.getByRole('textbox').last().fill(words)
      await watched.page.keyboard.press('Enter')
    }
    return { ...watched, say, log: watched.page.getByRole('log', { name: 'Messages' }) }
  }

  it('streams an answer, with the tool it used, what it was given and gave, and what the turn cost', async () => {
    const { page, say, log, faults, picture, context } = await chatWith('scribe')
    await say('audit the licences')
    await log.getByRole('table').waitFor()
    const step = log.locator('details.tool')
    await step.locator('summary').click()
    expect(await step.getByRole('region', { name: 'Arguments of run_command' }).textContent()).toContain(
      'printf',
    )
    expect(await step.getByRole('region', { name: 'Result of run_command' }).textContent()).toContain(
      'left-pad none',
    )
    const end = log.locator('.turn-end')
    expect(await end.textContent()).toMatch(/done.*\$0.*tokens/)
    await picture('chat-turn')
    const [run] = await mesh.runs(1)
    expect(run).toMatchObject({ state: 'done', origin: { kind: 'human', channel: 'dashboard' } })
    await end.getByRole('link', { name: 'Details' }).click()
    await page.getByRole('heading', { name: 'audit the licences' }).waitFor()
    await page
      .getByText(run?.id ?? '')
      .first()
      .waitFor()
    await page.goBack()
    // The conversation is still there after the page was loaded again.
    await log.getByRole('table').waitFor()
    await page.reload()
    await log.getByRole('table').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('a conversation shows the picture that the agent viewed, during the turn, from history, and in the trace', async () => {
    const { page, say, log, faults, picture, context } = await chatWith('courier')
    await mesh.ask('hello', { agent: 'courier' })
    await writeFile(join(mesh.dataOf('courier'), 'chart.png'), await page.screenshot())
    await say('look at the chart')
    const seen = log.locator('.seen-picture img')
    await log.getByText('It goes up.').waitFor()
    const widthOf = () => seen.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth)
    await expect.poll(widthOf).toBe(1280)
    await picture('chat-picture')
    const [run] = await mesh.runs(1)
    await page.reload()
    await expect.poll(widthOf).toBe(1280)
    await page.goto(`${mesh.url}/runs/${run?.id ?? ''}`)
    await page
      .getByRole('treeitem', { name: /view_image/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Show the picture that the agent saw' }).click()
    await page.getByRole('img', { name: 'What courier saw by view_image' }).waitFor()
    await picture('run-picture')
    expect(faults).toEqual([])
    await context.close()
  })

  it('a conversation in the browser is steered while it works, stopped, and asked again', async () => {
    const { page, say, log, faults, context } = await chatWith('scribe')
    await expect.poll(() => page.getByRole('textbox').last().evaluate(isFocused)).toBe(true)
    await say('slow work')
    await log.locator('details.tool').last().waitFor()
    await page.getByRole('textbox', { name: /while it works/ }).waitFor()
    await say('mind the gap')
    await page.getByText('reads it before its next step').waitFor()
    const [run] = await mesh.runs(1)
    expect(run?.steers).toMatchObject([{ text: 'mind the gap' }])
    // After a reload the page shows that the run is still executing, and can stop it.
    await page.reload()
    await log.getByText('slow work').waitFor()
    await page.getByRole('textbox', { name: /while it works/ }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    const stopped = log.locator('.turn').filter({ hasText: 'slow work' })
    await stopped.locator('.turn-end').getByText('cancelled').waitFor()
    expect(await stopped.count()).toBe(1)
    expect((await mesh.ended(run?.id ?? '')).state).toBe('cancelled')
    // The message that the run had not read goes back into the input field and starts no run.
    await log.getByText('Not read before the stop: mind the gap').waitFor()
    await expect.poll(() => page.getByRole('textbox').last().inputValue()).toBe('mind the gap')
    expect((await mesh.runs(5)).map(({ input }) => JSON.stringify(input)).join()).not.toContain(
      'mind the gap',
    )
    const step = stopped.locator('details.tool')
    expect(await step.locator('.badge').textContent()).toBe('stopped')
    await page.getByRole('textbox').last().fill('')
    await stopped.getByRole('button', { name: 'Ask again' }).click()
    await expect.poll(async () => (await mesh.runs(1))[0]?.input).toMatchObject({ message: 'slow work' })
    // A message to the run that does not reach the mesh goes back into the input field, with what was typed since.
    await page.route('**/steer', (route) => route.fulfill({ status: 500, body: 'not now' }))
    const busyField = page.getByRole('textbox', { name: /while it works/ })
    await busyField.fill('do not lose this')
    await busyField.press('Enter')
    await expect.poll(() => busyField.inputValue()).toBe('do not lose this')
    await page.unroute('**/steer')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await busyField.press('Escape')
    await stopped.locator('.turn-end').getByText('cancelled').nth(1).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('a conversation in the browser takes files along within bounds, and shows what an agent saved: markup as text', async () => {
    const { page, say, log, faults, picture, context } = await chatWith('scribe')
    const files = page.getByLabel('Files for scribe', { exact: true })
    await files.setInputFiles([
      { name: '<b>no tes.txt', mimeType: 'text/plain', buffer: Buffer.from('three words here') },
      { name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
    ])
    await page.getByText('empty.txt is empty.').waitFor()
    const attached = page.getByRole('list', { name: 'Attached files' })
    await attached.getByText('b-no-tes.txt').waitFor()
    await picture('chat-attached')
    await say('save a picture')
    await log.locator('.turn-end').last().getByText('done').waitFor()
    expect(await attached.count()).toBe(0)
    const [run] = await mesh.runs(1)
    const path = /\/data\/(uploads\/[0-9a-f]+-b-no-tes\.txt)/.exec(JSON.stringify(run?.input))?.[1] ?? ''
    expect(await readFile(join(mesh.dataOf('scribe'), path), 'utf8')).toBe('three words here')
    const shown = log.locator('details.artifact')
    await shown.getByText('artifact of scribe').waitFor()
    await shown.getByText('<svg onload=').first().waitFor()
    await picture('chat-artifacts')
    // The end of the log stays in view, although an artifact renders after it.
    const bottomOf = async (part: typeof log) => {
      const box = await part.boundingBox()
      return (box?.y ?? Number.NaN) + (box?.height ?? 0)
    }
    await expect
      .poll(async () => (await bottomOf(log.locator('.turn-end').last())) <= (await bottomOf(log)))
      .toBe(true)
    expect(await log.locator('svg[onload]').count()).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  })

  it('conversations of other agents and of the same agent are shown next to each other, each with its own session', async () => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, mesh.url, {
      width: 1440,
    })
    await open('/chat/courier')
    await page.getByRole('button', { name: 'Open scribe beside' }).click()
    const scribe = page.getByRole('region', { name: 'Conversation with scribe, dashboard' })
    await scribe.waitFor()
    await page.getByRole('button', { name: 'Open courier beside' }).click()
    const second = page.getByRole('region', { name: /Conversation with courier/ }).last()
    await second.getByRole('combobox', { name: 'Conversation' }).selectOption('dashboard-2')
    const other = page.getByRole('region', { name: 'Conversation with courier, dashboard-2' })
    await other.getByRole('textbox').fill('Are you there?')
    await other.getByRole('textbox').press('Enter')
    await other.getByRole('log').getByText('Yes.').waitFor()
    const first = page.getByRole('region', { name: 'Conversation with courier, dashboard', exact: true })
    expect(await first.getByText('Are you there?').count()).toBe(0)
    await picture('chat-panes')
    expect(await breaches()).toEqual([])
    // A session with a long name does not push anything out of its pane.
    await page.goto(
      `${mesh.url}/chat/courier?session=${'long-'.repeat(16)}name&beside=scribe&beside=operator`,
    )
    await page.getByRole('button', { name: /^Close the conversation with operator/ }).waitFor()
    const wide = await page
      .locator('.conversation > header')
      .evaluateAll((heads) => heads.filter((head) => head.scrollWidth > head.clientWidth).length)
    expect(wide).toBe(0)
    await page.goBack()
    await other.waitFor()
    await page.reload()
    await other.getByRole('log').getByText('Yes.').waitFor()
    await page.getByRole('button', { name: 'Close the conversation with scribe, dashboard' }).click()
    expect(await scribe.count()).toBe(0)
    await other.waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('a conversation in the browser shows hostile text as text: in names, results of tools and markdown nothing runs and nothing is fetched', async () => {
    verifies('limits:dashboard-auto-escaping')
    const { page, say, log, faults, open, context } = await chatWith('scribe')
    await say('hostile words please')
    // Waits for the turn of these words; until it is drawn, the last turn is an earlier one.
    const turn = log.locator('.turn').filter({ hasText: 'hostile words please' })
    await turn.locator('.turn-end').getByText('done').waitFor()
    await turn.locator('details.tool summary').last().click()
    expect(await turn.getByRole('region', { name: 'Result of run_command' }).last().textContent()).toContain(
      hostileText.slice(0, 28),
    )
    expect(await log.locator('img, script, iframe, svg[onload], [onerror]').count()).toBe(0)
    const addresses = await log
      .locator('a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    expect(addresses.filter((href) => /^(?:javascript|data):/i.test(href ?? ''))).toEqual([])
    await mesh.submit('remove tryout')
    for (const [path, shows] of [
      ['/fleet', 'tryout'],
      ['/approvals', 'is stopped and removed'],
      ['/runs', 'hostile words please'],
      ['/journal', 'run.submitted'],
    ] as const) {
      await open(path)
      await page.locator('[data-line=live]').first().waitFor({ state: 'attached' })
      await page.locator('main').getByText(shows).filter({ visible: true }).first().waitFor()
      expect(await page.locator('main img, main script, main iframe, main [onerror]').count(), path).toBe(0)
    }
    expect(faults).toEqual([])
    await context.close()
  })
})
