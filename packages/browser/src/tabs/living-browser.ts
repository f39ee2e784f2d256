import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { browserLimits } from '@flotilla/protocol/browser-service-api'
import type { Page } from 'playwright-core'
import { ActionProblem } from '../actions/action-problem.ts'
import { profileFolder } from '../launch/launch-browser.ts'
import type { LaunchedBrowser } from '../launch/launch-browser.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createElementReferences } from './element-references.ts'
import type { ElementReferences } from './element-references.ts'
import { watchTabs } from './open-tabs.ts'
import type { OpenTabs } from './open-tabs.ts'
import { createRequestLog } from './request-log.ts'
import type { RequestLog } from './request-log.ts'
import { createCopyGuard, guardedOriginsMax, originOf } from './copy-guard.ts'
import type { CopyGuard } from './copy-guard.ts'
import type { Secrets } from './secrets.ts'

/** A running browser and its state. */
export interface Live {
  readonly launched: LaunchedBrowser
  readonly tabs: OpenTabs
  readonly references: ElementReferences
  readonly requests: RequestLog
  /** Secrets of all browsers since the container started, because a new browser may restore typed values. */
  readonly secrets: Secrets
  readonly copyGuard: CopyGuard
}

/**
 * The one browser of this container.
 *
 * 1. It runs from the first use to a close or a crash; the next use restarts it from its profile, with its tabs.
 * 2. Callers that use it during a start wait for the same start; a failed start leaves nothing, and the next use
 *    tries again.
 */
export interface LivingBrowser {
  /** Returns the running browser, started if needed. Rejects with `launch-failed`. */
  use(): Promise<Live>
  readonly live: Live | null
  /** Saves which tabs are open, for the next start. */
  note(): void
  /** Closes the browser. Resolves with false if none was running. */
  close(): Promise<boolean>
  /** Closes the browser and deletes its profile, including cookies and saved tabs. */
  forget(): Promise<void>
}

const reopenMaxMs = 10_000

export function createLivingBrowser(deps: {
  readonly launch: () => Promise<LaunchedBrowser>
  readonly dataDirectory: string
  readonly secrets: Secrets
  readonly log: Log
}): LivingBrowser {
  const tabsFile = join(deps.dataDirectory, 'tabs.json')
  let live: Live | null = null
  let starting: Promise<Live> | null = null
  /** Resolves when the previous browser's display has ended, because the container has only one display. */
  let gone: Promise<void> = Promise.resolve()

  async function start(): Promise<Live> {
    let launched: LaunchedBrowser
    await gone
    try {
      launched = await deps.launch()
    } catch (err) {
      deps.log.error({ err }, 'failed to start the browser; the next action retries')
      throw new ActionProblem('launch-failed', 'The browser did not start. Try again in a moment.', 5000)
    }
    const references = createElementReferences()
    const tabs = watchTabs(launched.context, { onNavigated: references.forget, scrub: deps.secrets.scrub })
    const requests = createRequestLog(launched.context)
    const { secrets } = deps
    const copyGuard = await createCopyGuard({
      context: launched.context,
      secrets,
      clearSelections: launched.screen.clearSelections,
      earlier: readTabs(tabsFile).guarded,
    })
    const made: Live = { launched, tabs, references, requests, secrets, copyGuard }
    live = made
    gone = launched.gone
    void launched.ended.then(() => {
      if (live !== made) return
      live = null
      deps.log.warn({}, 'the browser exited; the next action starts it again')
    })
    await reopen(made)
    return made
  }

  /**
   * Restores the recorded tabs. After an orderly close Chromium restores its tabs itself, with their history; after a
   * kill it restores no tabs, or outdated ones. The record decides: in the end each recorded address has a tab, in
   * order, and there are no other tabs.
   */
  async function reopen({ tabs }: Live): Promise<void> {
    const noted = readTabs(tabsFile)
    if (noted.urls.length > 0) {
      const found = [...tabs.pages]
      const take = (matches: (page: Page) => boolean): Page | undefined => {
        const at = found.findIndex(matches)
        return at < 0 ? undefined : found.splice(at, 1)[0]
      }
      const restored = noted.urls.map((url) => take((page) => page.url() === url))
      const restoredPages: Page[] = []
      for (const page of restored) restoredPages.push(page ?? take(() => true) ?? (await tabs.open()))
      const options = { timeout: reopenMaxMs, waitUntil: 'domcontentloaded' } as const
      await Promise.allSettled(
        restoredPages.map(async (page, at) => {
          const url = noted.urls[at] ?? ''
          if (page.url() === url) await page.waitForLoadState('domcontentloaded', options)
          else await page.goto(url, options)
        }),
      )
      for (const page of found) await page.close().catch(() => undefined)
      tabs.arrange(restoredPages)
      const front = restoredPages[noted.front]
      if (front) await tabs.bringToFront(front)
    }
    tabs.happened()
  }

  async function close(): Promise<boolean> {
    const closing = live
    if (closing === null) return false
    note(closing)
    live = null
    await closing.launched.close()
    return true
  }

  function note({ tabs, secrets, copyGuard }: Live): void {
    const urls = tabs.pages.map((page: Page) => withoutSecret(page.url(), secrets))
    const guarded = copyGuard.origins
    const front = urls.slice(0, tabs.index()).filter(isWebAddress).length
    try {
      const noted = { urls: urls.filter(isWebAddress), front, ...(guarded.length > 0 ? { guarded } : {}) }
      writeFileSync(tabsFile, JSON.stringify(noted), { mode: 0o600 })
    } catch (err) {
      deps.log.warn({ err }, 'failed to save the open tabs; they are lost after a crash')
    }
  }

  return {
    get live() {
      return live
    },
    use: async () => {
      if (live) return live
      starting ??= start().finally(() => {
        starting = null
      })
      return starting
    },
    note: () => {
      if (live) note(live)
    },
    close,
    async forget() {
      await close()
      rmSync(tabsFile, { force: true })
      for (const folder of [profileFolder, 'downloads', '.config', '.cache', '.pki'])
        rmSync(join(deps.dataDirectory, folder), { recursive: true, force: true })
    },
  }
}

interface NotedTabs {
  readonly urls: readonly string[]
  /** The index in `urls` of the front tab. */
  readonly front: number
  /** Origins at which secrets were typed. */
  readonly guarded: readonly string[]
}

/** Removes a secret that a form put into an address: keeps the origin, and the path if it contains no secret. */
function withoutSecret(url: string, secrets: Secrets): string {
  if (secrets.find(url).length === 0 || !URL.canParse(url)) return url
  const { origin, pathname } = new URL(url)
  return secrets.find(pathname).length === 0 ? `${origin}${pathname}` : origin
}

/** Reads the saved tabs and validates them, because other programs may write to the same folder. */
function readTabs(path: string): NotedTabs {
  const none = { urls: [], front: 0, guarded: [] }
  try {
    const noted: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof noted !== 'object' || noted === null || !('urls' in noted) || !Array.isArray(noted.urls))
      return none
    const urls = noted.urls.filter((url: unknown) => typeof url === 'string' && isWebAddress(url))
    const front = 'front' in noted && typeof noted.front === 'number' ? noted.front : 0
    const origins: unknown[] = 'guarded' in noted && Array.isArray(noted.guarded) ? noted.guarded : []
    const guarded = origins.flatMap((origin) => (typeof origin === 'string' ? (originOf(origin) ?? []) : []))
    return { urls: urls.slice(0, browserLimits.tabsMax), front, guarded: guarded.slice(0, guardedOriginsMax) }
  } catch {
    return none
  }
}

/** True for http and https. Other addresses could show the container's files or run scripts in the current page. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
}
