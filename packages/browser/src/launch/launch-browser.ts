import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import type { BrowserContext } from 'playwright-core'
import type { ProxyToken } from '../proxy-token.ts'
import { openScreen, screenSize } from './open-screen.ts'
import type { Screen } from './open-screen.ts'
import { nowhere } from './proxy-relay.ts'

/** Chromium and its display. They start and end together. */
export interface LaunchedBrowser {
  readonly context: BrowserContext
  readonly screen: Screen
  readonly downloads: string
  /** Settles when Chromium or its display has ended, whether requested or not. */
  readonly ended: Promise<void>
  /** Settles when both Chromium and its display have ended. */
  readonly gone: Promise<void>
  /** Records the open tabs and ends the browser and its screen. */
  close(): Promise<void>
}

export interface LaunchDeps {
  readonly clock: Clock
  readonly token: ProxyToken
  readonly relayPort: number
  readonly dataDirectory: string
  readonly path: string
  readonly programs?: { readonly screen?: string; readonly chromium?: string }
}

export const profileFolder = 'profile'
const launchMaxMs = 30_000
/** The path of Chromium's own binary on Debian, because the usual name is a wrapper script. */
const chromiumPath = '/usr/lib/chromium/chromium'

/** Starts the display and Chromium. If it rejects with an Error, no process remains. */
export async function launchBrowser(deps: LaunchDeps): Promise<LaunchedBrowser> {
  if (!deps.token.isGone()) throw new Error('the token of the proxy still lies in its file')
  const { dataDirectory } = deps
  const downloads = join(dataDirectory, 'downloads')
  rmSync(downloads, { recursive: true, force: true })
  for (const folder of [downloads, join(dataDirectory, profileFolder)])
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Removes lock files of a killed browser, because Chromium would assume that the browser still runs.
  for (const name of ['SingletonLock', 'SingletonCookie', 'SingletonSocket'])
    rmSync(join(dataDirectory, profileFolder, name), { force: true })
  const environment = {
    PATH: deps.path,
    HOME: dataDirectory,
    LANG: 'C.UTF-8',
    XDG_CONFIG_HOME: join(dataDirectory, '.config'),
    XDG_CACHE_HOME: join(dataDirectory, '.cache'),
  }
  const screen = await openScreen({
    clock: deps.clock,
    environment,
    ...(deps.programs?.screen === undefined ? {} : { program: deps.programs.screen }),
  })
  try {
    const { chromium } = await import('playwright-core')
    const context = await chromium.launchPersistentContext(join(dataDirectory, profileFolder), {
      executablePath: deps.programs?.chromium ?? chromiumPath,
      headless: false,
      chromiumSandbox: true,
      viewport: null,
      acceptDownloads: true,
      downloadsPath: downloads,
      env: { ...environment, DISPLAY: screen.display },
      args: [...chromiumArguments(deps.relayPort)],
      ignoreDefaultArgs: unwantedArguments,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: launchMaxMs,
    })
    const closed = new Promise<void>((resolve) => {
      context.once('close', () => resolve())
    })
    const close = async (): Promise<void> => {
      await context.close().catch(() => undefined)
      await closed
      await screen.close()
    }
    const ended = Promise.race([closed, screen.ended])
    return { context, screen, downloads, close, ended, gone: ended.then(close) }
  } catch (error) {
    await screen.close()
    throw error
  }
}

/** Chromium's arguments in addition to Playwright's defaults. Pure. */
function chromiumArguments(relayPort: number): readonly string[] {
  return [
    `--proxy-server=127.0.0.1:${relayPort}`,
    // By default Chromium bypasses the proxy for loopback; this disables it, so that the mesh can reject loopback.
    '--proxy-bypass-list=<-loopback>',
    // The proxy resolves names, so every local name lookup fails.
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--disable-quic',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    // Chromium's own requests to Google go to a name that does not exist, and the relay rejects them.
    `--gaia-url=https://${nowhere}`,
    `--component-updater=url-source=https://${nowhere}/`,
    // A middle click pastes nothing: an agent has no use for the primary selection of X, which holds what was last
    // selected anywhere.
    '--blink-settings=middleClickPasteAllowed=false',
    '--no-pings',
    '--disable-crash-reporter',
    '--disable-domain-reliability',
    '--disable-client-side-phishing-detection',
    '--restore-last-session',
    '--hide-crash-restore-bubble',
    `--window-size=${screenSize.width},${screenSize.height}`,
    '--window-position=0,0',
    '--disable-gpu',
    // Limits renderer processes, because the container limits threads.
    '--renderer-process-limit=4',
  ]
}

/** Defaults of Playwright that are removed: pages must not open pop-ups at will, and shared memory is available. */
const unwantedArguments = ['--disable-popup-blocking', '--disable-dev-shm-usage']
