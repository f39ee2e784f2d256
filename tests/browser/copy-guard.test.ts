import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createCopyGuard } from '../../packages/browser/src/tabs/copy-guard.ts'
import { createSecrets } from '../../packages/browser/src/tabs/secrets.ts'
import { hasBrowser, openBrowser } from './open-browser.ts'
import { patient } from '../support/patience.ts'

/** A page whose scripts copy text without any key press. */
const html = `<!doctype html><p id="shown" draggable="true">tops3cret-value</p><script>
  const ends = {}
  addEventListener('copy', (event) => { event.clipboardData.setData('text/plain', 'of the page'); event.preventDefault() }, true)
  for (const kind of ['copy', 'cut', 'dragstart']) addEventListener(kind, (event) => { ends[kind] = event.defaultPrevented })
</script>`

let browser: Browser
const site = createServer((_, response) => void response.setHeader('content-type', 'text/html').end(html))
beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  if (hasBrowser) browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  site.closeAllConnections()
  site.close()
})

async function aGuardedPage(when: 'before it came' | 'while it was there') {
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const context = await browser.newContext()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
  const emptied = { times: 0 }
  const guard = await createCopyGuard({
    context,
    secrets: createSecrets(),
    clearSelections: async () => void (emptied.times += 1),
    earlier: when === 'before it came' ? [origin] : [],
  })
  const page = await context.newPage()
  await page.goto(origin)
  await page.evaluate("navigator.clipboard.writeText('before')").catch(() => undefined)
  await guard.guard(origin)
  return { page, guard, context, emptied }
}

const inPage = (page: Page, script: string) =>
  page.evaluate(`(async () => { ${script} })()`).catch((error: unknown) => String(error))

it.runIf(hasBrowser).each(['before it came', 'while it was there'] as const)(
  'a page whose origin was guarded %s copies and drags nothing by its own scripts',
  async (when) => {
    const { page, context } = await aGuardedPage(when)
    expect(await inPage(page, "await navigator.clipboard.writeText('tops3cret-value')")).toContain(
      'NotAllowedError',
    )
    expect(
      await inPage(
        page,
        "await navigator.clipboard.write([new ClipboardItem({ 'text/plain': 'tops3cret-value' })])",
      ),
    ).toContain('NotAllowedError')
    await page.click('#shown')
    await inPage(page, "getSelection().selectAllChildren(shown); document.execCommand('copy')")
    await page.keyboard.press('Control+A')
    await page.keyboard.press('Control+C')
    expect(await inPage(page, 'return navigator.clipboard.readText()')).not.toMatch(/tops3cret|of the page/)
    const dragged =
      'return shown.dispatchEvent(new DragEvent("dragstart", { bubbles: true, cancelable: true }))'
    expect(await inPage(page, dragged)).toBe(false)
    await context.close()
  },
)

it.runIf(hasBrowser)(
  'the selections are emptied around each action on a guarded page, and once when it was left',
  async () => {
    const { page, guard, context, emptied } = await aGuardedPage('before it came')
    await guard.settle(page)
    await guard.settle(page)
    expect(emptied.times).toBe(2)
    await page.goto('about:blank')
    await guard.settle(page)
    await guard.settle(page)
    expect(emptied.times).toBe(3)
    guard.doubt()
    await guard.settle(page)
    expect(emptied.times).toBe(4)
    await context.close()
  },
)

/** Documents that show the text of a guarded origin, some without an origin of their own. */
it.runIf(hasBrowser).each([
  ['a frame in the page of another origin', (at: string) => `<iframe src="${at}"></iframe>`],
  ['a frame in a sandbox', (at: string) => `<iframe sandbox="allow-scripts" src="${at}"></iframe>`],
  ['a frame without scripts', (at: string) => `<iframe sandbox="allow-forms" src="${at}"></iframe>`],
  [
    'a frame without scripts in another one',
    (at: string) =>
      `<iframe sandbox src="data:text/html,${encodeURIComponent(`<iframe src='${at}'></iframe>`)}"></iframe>`,
  ],
] as const)('nothing is copied or dragged from %s', async (_what, embedding) => {
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const context = await browser.newContext()
  const other = 'http://other.test/'
  await context.route(`${other}**`, (route) =>
    route.fulfill({ contentType: 'text/html', body: embedding(origin) }),
  )
  const guard = await createCopyGuard({
    context,
    secrets: createSecrets(),
    clearSelections: async () => undefined,
    earlier: [origin],
  })
  const page = await context.newPage()
  await page.goto(other)
  await guard.settle(page)
  const inner = page.frames().find((frame) => frame.url().startsWith(origin))
  await inner?.click('#shown')
  expect(await inner?.evaluate(prevented)).toEqual({ copy: true, cut: true, dragstart: true })
  await context.close()
})

it.runIf(hasBrowser).each(['before', 'after'] as const)(
  'nothing is copied or dragged from a document that a page generated %s it was guarded',
  async (when) => {
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const context = await browser.newContext()
    const guard = await createCopyGuard({
      context,
      secrets: createSecrets(),
      clearSelections: async () => undefined,
      earlier: when === 'after' ? [origin] : [],
    })
    const page = await context.newPage()
    await page.goto(origin)
    await page.evaluate(`{
    const frame = document.createElement('iframe')
    frame.sandbox = 'allow-scripts'
    frame.srcdoc = '<p id="shown">tops3cret-value</p>'
    document.body.append(frame)
  }`)
    const inner = await page.waitForSelector('iframe').then((element) => element.contentFrame())
    await inner?.click('#shown')
    await guard.guard(origin)
    expect(await inner?.evaluate(prevented)).toEqual({ copy: true, cut: true, dragstart: true })
    await context.close()
  },
)

const echoed = 'Your API key: tops3cret-value'
/** Sites that are visited after a login at the first; several show the typed value. */
const sites = {
  'http://login.test/': '<input id="field">',
  'http://echo.test/': `<p>${echoed}</p>`,
  'http://spans.test/': '<p>Key: tops3<b>cret</b>-value</p>',
  'http://field.test/': '<input value="tops3cret-value" autofocus>',
  'http://base64.test/': `<p>${Buffer.from('tops3cret-value').toString('base64')}</p>`,
  'http://frame.test/': '<iframe src="http://echo.test/"></iframe>',
  'http://shadow.test/':
    '<div id="host"></div><script>host.attachShadow({ mode: "open" }).innerHTML = "<p>tops3cret-value</p>"</script>',
  'http://closed.test/':
    '<div id="host"></div><script>host.attachShadow({ mode: "closed" }).innerHTML = "<p>tops3cret-value</p>"</script>',
  'http://plain.test/': '<p>nothing secret</p><textarea id="field"></textarea>',
  'http://other.test/': '<textarea id="field"></textarea>',
} as const

async function afterALogin() {
  const context = await browser.newContext()
  for (const [address, body] of Object.entries(sites))
    await context.route(`${address}**`, (route) => route.fulfill({ contentType: 'text/html', body }))
  const emptied = { times: 0 }
  const secrets = createSecrets()
  const guard = await createCopyGuard({
    context,
    secrets,
    clearSelections: async () => void (emptied.times += 1),
    earlier: [],
    searchMaxMs: patient(10_000),
  })
  const page = await context.newPage()
  await page.goto('http://login.test/')
  await guard.settle(page)
  secrets.add('tops3cret-value')
  await guard.guard('http://login.test')
  await guard.settle(page)
  /** Does as `perform-action` does for each action. */
  const act = async (work: () => Promise<unknown>) => {
    await guard.settle(page)
    await work()
    await guard.settle(page)
  }
  const keys = async (...all: readonly string[]) => {
    for (const key of all) await act(() => page.keyboard.press(key))
  }
  return { page, context, guard, emptied, act, keys }
}

it.runIf(hasBrowser).each(['echo', 'spans', 'field', 'base64'])(
  'a typed secret that a third site shows (%s) is not copied from it',
  async (name) => {
    const { page, context, guard, act, keys } = await afterALogin()
    await act(() => page.goto('http://plain.test/'))
    await keys('Control+A', 'Control+C')
    await act(() => page.goto(`http://${name}.test/`))
    expect(guard.origins).toContain(`http://${name}.test`)
    if (name === 'field') await act(() => page.click('input'))
    await keys('Control+A', 'Control+C')
    await act(() => page.goto('http://other.test/'))
    await act(() => page.click('#field'))
    await keys('Control+V')
    expect(await page.inputValue('#field')).not.toMatch(/tops3cret|dG9wczNjcmV0/)
    await context.close()
  },
)

it.runIf(hasBrowser).each(['frame', 'shadow', 'closed'])(
  'the site of a %s that shows a typed secret is guarded',
  async (name) => {
    const { page, context, guard, act } = await afterALogin()
    await act(() => page.goto(`http://${name}.test/`))
    expect(guard.origins).toContain(`http://${name === 'frame' ? 'echo' : name}.test`)
    await context.close()
  },
)

it.runIf(hasBrowser)('a secret that a page shows later is found before the next action', async () => {
  const { page, context, guard, act } = await afterALogin()
  await act(() => page.goto('http://plain.test/'))
  expect(guard.origins).toEqual(['http://login.test'])
  await page.evaluate(`document.querySelector('p').textContent = ${JSON.stringify(echoed)}`)
  await guard.settle(page)
  expect(guard.origins).toContain('http://plain.test')
  await context.close()
})

it.runIf(hasBrowser)(
  'a page that shows no typed secret copies within its origin, and its selection does not reach another',
  async () => {
    const { page, context, guard, emptied, act, keys } = await afterALogin()
    await act(() => page.goto('http://plain.test/'))
    const before = emptied.times
    await act(() => page.goto('http://plain.test/again'))
    await keys('Control+A', 'Control+C')
    await act(() => page.click('#field'))
    await keys('Control+V')
    expect(await page.inputValue('#field')).toContain('nothing secret')
    expect([emptied.times, guard.origins]).toEqual([before, ['http://login.test']])
    await act(() => page.goto('http://other.test/'))
    expect(emptied.times).toBe(before + 1)
    await context.close()
  },
)

it.runIf(hasBrowser)('the selections of a page with more text than is searched are emptied', async () => {
  const { page, context, emptied, act } = await afterALogin()
  await act(() => page.goto('http://plain.test/'))
  await page.evaluate("document.querySelector('p').textContent = 'long '.repeat(100_000)")
  const before = emptied.times
  await act(async () => undefined)
  expect(emptied.times).toBe(before + 2)
  await context.close()
})

/** Runs in a document: which of its events a listener of the browser service has prevented. */
const prevented = `Object.fromEntries(['copy', 'cut', 'dragstart'].map((kind) => {
  const event = new Event(kind, { bubbles: true, cancelable: true })
  document.getElementById('shown').dispatchEvent(event)
  return [kind, event.defaultPrevented]
}))`
