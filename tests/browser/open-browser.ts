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
/** Ignored by git; whoever changes a page looks at them. */
const pictures = join(root, 'reports', 'screenshots')
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const soak = process.env['FLOTILLA_SOAK'] === '1'
const browserUrl = process.env[browserVariable] ?? ''
export const hasBrowser = browserUrl !== ''

export interface PageOptions {
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly cookie?: { readonly name: string; readonly value: string }
  /** Of a person, as a proxy in front of the mesh sends it along with each call. */
  readonly token?: string
}

/** A page, and what it did that no page of ours may do. */
export interface WatchedPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Breaches of its policy, errors of its scripts, dialogs, and requests to other hosts. */
  readonly faults: string[]
  open(path: string): Promise<void>
  /** Opens a path and waits until its data are there; where they do not come, says what stands there instead, and why. */
  openWhole(path: string, shows: string, skeletons?: number): Promise<void>
  /** The same by the way that a link of the page leads, where one of ours is open; the soak tests load each anew. */
  turnTo(path: string, shows: string, skeletons?: number): Promise<void>
  picture(name: string): Promise<void>
  /** Rules of accessibility that it breaks, with the elements. */
  breaches(of?: 'all' | 'colors'): Promise<readonly string[]>
}

/** A line to the one browser of all files; closing it ends the contexts that it opened. */
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
  // What stood there before is gone with the second frame: where data are awaited, their place is drawn meanwhile.
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
      // What was changed just before, a theme or a width, is drawn with the second frame from here.
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))',
      )
      await page.screenshot({ path: join(pictures, `${name}.png`) })
    },
    breaches: (of = 'all') => axeBreaches(page, of),
  }
}

/** Runs the checker in the world of the test, where the policy of the page does not reach. */
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
