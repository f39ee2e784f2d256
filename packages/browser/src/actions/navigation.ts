import { browserLimits } from '@flotilla/protocol/browser-service-api'
import type { Page, Response } from 'playwright-core'
import { isWebAddress } from '../tabs/living-browser.ts'
import { ActionProblem } from './action-problem.ts'
import type { Acts } from './action.ts'
import { findCaptcha } from './find-captcha.ts'

/** Actions that open pages, go through the history and manage tabs. */
export const navigation: Acts<
  'navigate' | 'go_back' | 'go_forward' | 'open_tab' | 'switch_tab' | 'close_tab'
> = {
  async navigate({ page, left }, { url, wait_until: waitUntil = 'load' }) {
    const response = await go(page, url, { timeout: left(), waitUntil })
    return { http_status: response?.status() ?? null, captcha: await findCaptcha(page) }
  },

  async go_back({ page, left }) {
    await history(page.goBack({ timeout: left(), waitUntil: 'domcontentloaded' }), page)
    return {}
  },

  async go_forward({ page, left }) {
    await history(page.goForward({ timeout: left(), waitUntil: 'domcontentloaded' }), page)
    return {}
  },

  async open_tab({ live, left }, { url }) {
    if (url !== undefined) requireAddress(url)
    if (live.tabs.pages.length >= browserLimits.tabsMax)
      throw new ActionProblem('not-possible', 'No further tab can be opened. Close one first.')
    const page = await live.tabs.open()
    if (url !== undefined) await go(page, url, { timeout: left(), waitUntil: 'load' })
    return {}
  },

  async switch_tab({ live }, { index }) {
    await live.tabs.bringToFront(tabAt(live.tabs.pages, index))
    return {}
  },

  async close_tab({ live }, { index = live.tabs.index() }) {
    const page = tabAt(live.tabs.pages, index)
    await live.tabs.close(page)
    const front = await live.tabs.active()
    await live.tabs.bringToFront(front)
    return {}
  },
}

async function go(
  page: Page,
  url: string,
  options: {
    readonly timeout: number
    readonly waitUntil: 'load' | 'domcontentloaded' | 'networkidle' | 'commit'
  },
): Promise<Response | null> {
  requireAddress(url)
  return page.goto(url, options)
}

function requireAddress(url: string): void {
  if (url === 'about:blank' || isWebAddress(url)) return
  throw new ActionProblem('url-refused', 'Only addresses that begin with http:// or https:// can be opened.')
}

async function history(moved: Promise<Response | null>, page: Page): Promise<void> {
  const before = page.url()
  const response = await moved
  // Without a response the page is in the same document, or the server did not answer.
  if (response === null && page.url() === before)
    throw new ActionProblem('not-possible', 'The history of the tab has no page in that direction.')
}

function tabAt(pages: readonly Page[], index: number): Page {
  const page = pages[index]
  if (page) return page
  throw new ActionProblem(
    'no-such-tab',
    `There are ${pages.length} tabs, counted from 0: there is no tab ${index}.`,
  )
}
