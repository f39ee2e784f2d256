import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { echoStyle, withoutEchoes } from '../../packages/browser/src/actions/hide-echoes.ts'
import { createSecrets } from '../../packages/browser/src/tabs/secrets.ts'
import { hasBrowser, openBrowser } from './open-browser.ts'

const secret = 'tops3cret-value'
const pages: Readonly<Record<string, string>> = {
  '/script': `<div id="host"></div><p>kept</p><script>
    const root = document.querySelector('#host').attachShadow({ mode: 'closed' })
    root.innerHTML = '<p>tops3cret-<b>value</b></p>'
  </script>`,
  '/declared': `<div id="host"><template shadowrootmode="closed"><p title="x">${secret}</p></template></div><p>kept</p>`,
  '/nested': `<div id="host"></div><p>kept</p><script>
    const outer = document.querySelector('#host').attachShadow({ mode: 'open' })
    outer.innerHTML = '<section></section>'
    outer.querySelector('section').attachShadow({ mode: 'closed' }).innerHTML = '<input placeholder="${secret}">'
  </script>`,
  '/harmless': `<div id="host"><template shadowrootmode="closed"><p>a value</p></template></div><p>kept</p>`,
}

let browser: Browser
const site = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
  const framed = searchParams.get('frame')
  response.setHeader('content-type', 'text/html')
  response.end(
    `<!doctype html>${framed === null ? (pages[pathname] ?? '') : `<iframe src="${framed}" width="400" height="200"></iframe>`}`,
  )
})
beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  if (hasBrowser) browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  site.closeAllConnections()
  site.close()
})

async function pictures(address: string) {
  const page = await browser.newPage()
  const secrets = createSecrets()
  secrets.add(secret)
  await page.goto(address)
  const picture = () => page.screenshot({ style: echoStyle })
  const open = await picture()
  const hidden = await withoutEchoes(page, secrets, picture)
  const after = await picture()
  for (const frame of page.frames()) {
    await frame.evaluate(`{
      const host = document.querySelector('#host')
      if (host) (host.shadowRoot?.querySelector('section') ?? host).style.display = 'none'
    }`)
  }
  const empty = await picture()
  await page.close()
  return { open, hidden, after, empty }
}

it.runIf(hasBrowser).each(['/script', '/declared', '/nested'])(
  'a closed shadow root that shows a secret (%s) is left out of a picture, and back afterwards',
  async (path) => {
    const { port } = site.address() as AddressInfo
    const framed = encodeURIComponent(`http://localhost:${port}${path}`)
    for (const address of [`http://127.0.0.1:${port}${path}`, `http://127.0.0.1:${port}/?frame=${framed}`]) {
      const { open, hidden, after, empty } = await pictures(address)
      expect(hidden.equals(empty), address).toBe(true)
      expect(hidden.equals(open), address).toBe(false)
      expect(after.equals(open), address).toBe(true)
    }
  },
)

it.runIf(hasBrowser)('a closed shadow root without a secret stays in the picture', async () => {
  const { port } = site.address() as AddressInfo
  const { open, hidden } = await pictures(`http://127.0.0.1:${port}/harmless`)
  expect(hidden.equals(open)).toBe(true)
})
