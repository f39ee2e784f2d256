import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { patient } from '../support/patience.ts'
import { browserVariable } from './set-up.ts'

const root = join(import.meta.dirname, '..', '..')
/** Pictures for people who change a page; ignored by git. */
const pictures = join(root, 'reports', 'screenshots')
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const soak = process.env['FLOTILLA_SOAK'] === '1'
const browserUrl = process.env[browserVariable] ?? ''
export const hasBrowser = browserUrl !== ''

export interface PageOptions {
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly cookie?: { readonly name: string; readonly value: string }
  /** Token of a person, which the browser sends with each call, as a proxy in front of the mesh would. */
  readonly token?: string
}

/** A page, and the faults that were observed on it. */
export interface WatchedPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Violations of its policy, script errors, dialogs, and requests to other hosts. */
  readonly faults: string[]
  open(path: string): Promise<void>
  /**
   * Opens a path and waits until its data are shown. Otherwise rejects with the text of the page and the failed
   * requests.
   */
  openWhole(path: string, shows: string, skeletons?: number): Promise<void>
  /**
   * Like `openWhole`, but navigates within the page if one is open, as a link does; the soak tests load each page
   * anew.
   */
  turnTo(path: string, shows: string, skeletons?: number): Promise<void>
  picture(name: string): Promise<void>
  /** Accessibility rules that the page violates, with the elements. */
  breaches(of?: 'all' | 'colors'): Promise<readonly string[]>
}

/** Connects to the one browser of all files; closing the connection closes the contexts that it opened. */
export function openBrowser(): Promise<Browser> {
  return chromium.connect(browserUrl)
}

export async function openPage(
  browser: Browser,
  url: string,
  { theme = 'light', width = 1280, cookie, token }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height: width < 600 ? 844 : 800 },
    reducedMotion: 'reduce',
    ...(token === undefined ? {} : { extraHTTPHeaders: { authorization: `Bearer ${token}` } }),
  })
  if (cookie) await context.addCookies([{ ...cookie, url }])
  const page = await context.newPage()
  page.setDefaultTimeout(patient(10_000))
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|Trusted/i.test(message.text()))
      faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.protocol.startsWith('http') && asked.origin !== new URL(url).origin)
      faults.push(`foreign request: ${request.url()}`)
  })
  const troubles: string[] = []
  page.on('requestfailed', (request) => troubles.push(`${request.url()}: ${request.failure()?.errorText}`))
  page.on('response', (reply) => {
    if (reply.status() >= 400) troubles.push(`${reply.url()}: ${reply.status()}`)
  })
  const open = async (path: string): Promise<void> => {
    await page.goto(url + path)
    await page.locator('main').waitFor()
  }
  // After two frames nothing of the page before is drawn: parts that wait for data show a placeholder.
  const turn = (path: string): Promise<void> =>
    soak || !page.url().startsWith(url)
      ? open(path)
      : page.evaluate<void>(
          `new Promise((done) => {
            history.pushState(null, '', ${JSON.stringify(path)})
            requestAnimationFrame(() => requestAnimationFrame(done))
          })`,
        )
  const whole = async (path: string, shows: string, skeletons = 0): Promise<void> => {
    try {
      await page.locator('main').getByText(shows).filter({ visible: true }).first().waitFor()
      await page.locator('[data-line=live]').first().waitFor({ state: 'attached' })
      await expect.poll(() => page.locator('.skeleton').count()).toBe(skeletons)
    } catch (error) {
      const stands = await page.locator('body').innerText()
      const told = `${path} does not show “${shows}” but:\n${stands}\n${troubles.join('\n')}`
      throw new Error(told, { cause: error })
    }
  }
  return {
    page,
    context,
    faults,
    open,
    openWhole: (path, shows, skeletons) => open(path).then(() => whole(path, shows, skeletons)),
    turnTo: (path, shows, skeletons) => turn(path).then(() => whole(path, shows, skeletons)),
    picture: async (name) => {
      mkdirSync(pictures, { recursive: true })
      // A change of theme or width just before is drawn with the second frame from here.
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))',
      )
      await page.screenshot({ path: join(pictures, `${name}.png`) })
    },
    breaches: (of = 'all') => axeBreaches(page, of),
  }
}

/** Runs axe in an isolated world, to which the page's policy does not apply. */
async function axeBreaches(page: Page, of: 'all' | 'colors'): Promise<readonly string[]> {
  const runOnly =
    of === 'colors'
      ? ['color-contrast', 'link-in-text-block']
      : ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']
  const session = await page.context().newCDPSession(page)
  const { frameTree } = await session.send('Page.getFrameTree')
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  })
  await session.send('Runtime.evaluate', { contextId, expression: axeSource })
  const { result } = await session.send('Runtime.evaluate', {
    contextId,
    awaitPromise: true,
    returnByValue: true,
    expression: `axe.run(document, { runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? ''))))`,
  })
  await session.detach()
  return result.value as readonly string[]
}
