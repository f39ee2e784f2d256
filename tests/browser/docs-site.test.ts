import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import process from 'node:process'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { patient } from '../support/patience.ts'
import { hasBrowser, openBrowser } from './open-browser.ts'

const root = join(import.meta.dirname, '..', '..')
const built = join(root, 'dist', 'docs-site')
const pictures = join(root, 'reports', 'screenshots')
const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
}

let browser: Browser | undefined
let server: Server | undefined
let address = ''

beforeAll(async () => {
  if (!hasBrowser) return
  // vitest sets PROD, MODE and others in the environment, which Astro would read as its own settings. What npm needs
  // to reach its registry (proxy, certificates) stays.
  const kept = /^(?:PATH|HOME|NODE_EXTRA_CA_CERTS|npm_config_.*|(?:https?|no)_proxy)$/i
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name)))
  const script = join(root, 'scripts', 'build-docs-site.ts')
  const build = spawnSync(process.execPath, [script], { encoding: 'utf8', env })
  if (build.status !== 0) throw new Error(`the site was not built:\n${build.stdout}\n${build.stderr}`)
  const opened = createServer((request, reply) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname)
    const file = join(built, path.endsWith('/') ? `${path}index.html` : path)
    if (!file.startsWith(built) || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
      reply.writeHead(404).end()
      return
    }
    reply.writeHead(200, { 'content-type': mediaTypes[extname(file)] ?? 'application/octet-stream' })
    reply.end(readFileSync(file))
  })
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve))
  server = opened
  address = `http://127.0.0.1:${(opened.address() as AddressInfo).port}`
  browser = await openBrowser()
  mkdirSync(pictures, { recursive: true })
}, patient(240_000))

afterAll(async () => {
  await browser?.close()
  server?.close()
})

describe.skipIf(!hasBrowser)('the documentation site', () => {
  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)(
    'the documentation site draws every diagram of the architecture page at %d pixels, %s',
    async (width, colorScheme) => {
      const page = await pageOf(width, colorScheme)
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(error.message))
      await page.goto(`${address}/architecture/`)
      await expect.poll(() => page.locator('figure.diagram svg').count()).toBe(5)
      expect(errors).toEqual([])
      expect(await page.locator('text=Syntax error').count()).toBe(0)
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      await page.screenshot({ path: join(pictures, `docs-architecture-${width}-${colorScheme}.png`) })
      await page.context().close()
    },
  )

  test('the documentation site finds a page by its words', async () => {
    const page = await pageOf(1280, 'light')
    await page.goto(`${address}/`)
    await page.locator('button[data-open-modal]').click()
    await page.getByRole('dialog').getByRole('textbox').fill('fencing token')
    const results = page.locator('.pagefind-ui__result-link')
    await expect.poll(() => results.count()).toBeGreaterThan(0)
    expect(await results.allTextContents()).toContain('Run ledger')
    await page.context().close()
  })

  test.each([1280, 390])(
    'the documentation site shows its first page without sideways scrolling at %d pixels',
    async (width) => {
      const page = await pageOf(width, 'light')
      await page.goto(`${address}/`)
      expect(await page.locator('h1').textContent()).toBe('Flotilla')
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      await page.screenshot({ path: join(pictures, `docs-first-page-${width}.png`) })
      await page.context().close()
    },
  )
})

async function pageOf(width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
  if (browser === undefined) throw new Error('no browser')
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
  return context.newPage()
}
