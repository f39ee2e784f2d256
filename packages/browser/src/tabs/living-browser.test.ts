import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventEmitter } from 'node:events'
import type { BrowserContext } from 'playwright-core'
import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { LaunchedBrowser } from '../launch/launch-browser.ts'
import { createLivingBrowser } from './living-browser.ts'
import { createSecrets } from './secrets.ts'

/** One display: opening it twice fails. */
function oneDisplay() {
  const taken = { by: 0, launches: 0, failing: 0 }
  const launch = async (): Promise<LaunchedBrowser> => {
    taken.launches += 1
    expect(taken.by).toBe(0)
    if (taken.failing > 0) {
      taken.failing -= 1
      throw new Error('no display')
    }
    taken.by += 1
    const ended = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const close = async () => {
      ended.resolve()
      await new Promise(setImmediate)
      taken.by = 0
      gone.resolve()
    }
    const page = Object.assign(new EventEmitter(), {
      url: () => 'about:blank',
      mainFrame: () => null,
      bringToFront: async () => undefined,
      waitForLoadState: async () => undefined,
    })
    const context = Object.assign(new EventEmitter(), { pages: () => [page] })
    return {
      context: context as unknown as BrowserContext,
      screen: { display: ':1', socketPath: '', ended: ended.promise, clearSelections: async () => {}, close },
      downloads: '',
      ended: ended.promise,
      gone: gone.promise,
      close,
    }
  }
  return { taken, launch }
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

function aBrowser() {
  const display = oneDisplay()
  const dataDirectory = mkdtempSync(join(tmpdir(), 'living-'))
  const browser = createLivingBrowser({
    launch: display.launch,
    dataDirectory,
    secrets: createSecrets(),
    log: silent,
  })
  return { ...display, browser, dataDirectory }
}

test('a hundred launches that fail take nothing from the next', async () => {
  heedsLesson(117)
  const { browser, taken } = aBrowser()
  taken.failing = 100
  for (let launch = 0; launch < 100; launch += 1)
    await expect(browser.use()).rejects.toMatchObject({
      code: 'launch-failed',
      retryAfterMs: expect.any(Number),
    })
  await expect(browser.use()).resolves.toBeDefined()
  expect(taken).toMatchObject({ by: 1, launches: 101 })
})

test('concurrent callers wait for the same start', async () => {
  const { browser, taken } = aBrowser()
  const lives = await Promise.all([browser.use(), browser.use(), browser.use()])
  expect(new Set(lives).size).toBe(1)
  expect(taken.launches).toBe(1)
})

test('a browser that ended by itself is restarted once its processes are gone', async () => {
  const { browser, taken } = aBrowser()
  const first = await browser.use()
  void first.launched.close()
  await first.launched.ended
  await new Promise(setImmediate)
  const second = await browser.use()
  expect(second).not.toBe(first)
  expect(taken).toMatchObject({ by: 1, launches: 2 })
})

test('close reports whether a browser ran, and its tabs are recorded', async () => {
  const { browser, dataDirectory } = aBrowser()
  expect(await browser.close()).toBe(false)
  await browser.use()
  expect(await browser.close()).toBe(true)
  expect(browser.live).toBeNull()
  expect(readFileSync(join(dataDirectory, 'tabs.json'), 'utf8')).toBe('{"urls":[],"front":0}')
})
