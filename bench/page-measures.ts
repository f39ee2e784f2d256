import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, CDPSession, Page } from 'playwright-core'

/** A task on the page's main thread that took longer than 50 ms delays every reaction. */
const longTaskMs = 50
/** The page counts as responsive after this time without a long task. */
const quietMs = 1000
const readyMaxMs = 120_000
const pollEveryMs = 10

export interface PageFigures {
  /** Milliseconds since the navigation until the first content and the expected content were drawn. */
  readonly firstContentMs: number
  readonly readyMs: number
  /** Milliseconds until the expected content was drawn with its data and the last long task had ended. */
  readonly interactiveMs: number
  readonly largestContentMs: number
  readonly blockingMs: number
  readonly longTasks: number
  readonly layoutShift: number
  /** Transferred bytes, including headers. */
  readonly bytes: number
  readonly requests: number
  /** Script heap after a garbage collection. */
  readonly heapBytes: number
}

interface Seen {
  readonly paints: number
  readonly largest: number
  readonly shift: number
  readonly tasks: readonly { readonly at: number; readonly took: number }[]
}

/** Starts before the first script of the page, whose content security policy does not apply to it. */
const watching = `(() => {
  const seen = { paints: 0, largest: 0, shift: 0, tasks: [] }
  window.__seen = seen
  const watch = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true })
  watch('paint', (entry) => { if (entry.name === 'first-contentful-paint') seen.paints = entry.startTime })
  watch('largest-contentful-paint', (entry) => { seen.largest = entry.startTime })
  watch('layout-shift', (entry) => { if (!entry.hadRecentInput) seen.shift += entry.value })
  watch('longtask', (entry) => seen.tasks.push({ at: entry.startTime, took: entry.duration }))
})()`

/** Opens a page in a browser with an empty cache, and waits until `ready` is true in it and no long task runs. */
export async function measureOpening(
  browser: Browser,
  asked: { readonly url: string; readonly ready: string },
): Promise<PageFigures> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    let [bytes, requests] = [0, 0]
    await session.send('Network.enable')
    session.on('Network.requestWillBeSent', () => (requests += 1))
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
    await page.addInitScript(watching)
    await page.goto(asked.url, { waitUntil: 'commit' })
    const readyMs = await untilReady(page, asked.ready)
    const seen = await untilQuiet(page)
    const last = seen.tasks.filter(({ at }) => at < readyMs + quietMs).at(-1)
    return {
      firstContentMs: seen.paints,
      readyMs,
      interactiveMs: Math.max(readyMs, last ? last.at + last.took : 0),
      largestContentMs: seen.largest,
      blockingMs: seen.tasks.reduce((sum, { took }) => sum + Math.max(0, took - longTaskMs), 0),
      longTasks: seen.tasks.length,
      layoutShift: seen.shift,
      bytes,
      requests,
      heapBytes: await heapOf(session),
    }
  } finally {
    await context.close()
  }
}

export async function readSeen(page: Page): Promise<Seen> {
  return (await page.evaluate('window.__seen')) as Seen
}

export async function watchPage(page: Page): Promise<void> {
  await page.addInitScript(watching)
}

/**
 * Evaluates the expression from outside, since the page's policy forbids it inside. Returns ms since the
 * navigation.
 */
async function untilReady(page: Page, ready: string): Promise<number> {
  const end = performance.now() + readyMaxMs
  while (performance.now() < end) {
    const at = Number(await page.evaluate(`document.body && (${ready}) ? performance.now() : 0`))
    if (at > 0) return at
    await delay(pollEveryMs)
  }
  throw new Error(
    `it was not ready: ${ready}; it says ${(await page.locator('body').innerText()).slice(0, 500)}`,
  )
}

async function untilQuiet(page: Page): Promise<Seen> {
  for (;;) {
    const before = (await readSeen(page)).tasks.length
    await delay(quietMs)
    const seen = await readSeen(page)
    if (seen.tasks.length === before) return seen
  }
}

/** Script heap of a page after a garbage collection, bytes. */
export async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.enable')
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.send('HeapProfiler.disable')
  return usedSize
}
