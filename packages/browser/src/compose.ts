import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { Clock } from '@flotilla/protocol/clock'
import type { BrowserStatus, WatchMode } from '@flotilla/protocol/browser-service-api'
import { createAnswerCaptcha } from './actions/answer-captcha.ts'
import { createActionQueue } from './actions/action-queue.ts'
import { createPerformAction } from './actions/perform-action.ts'
import type { BrowserEnvironment } from './environment.ts'
import { launchBrowser } from './launch/launch-browser.ts'
import { startProxyRelay } from './launch/proxy-relay.ts'
import { isSandboxed } from './launch/sandboxed.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { memoryUse } from './memory-use.ts'
import type { ProxyToken } from './proxy-token.ts'
import { createWatchers, watchersMax } from './screen/watchers.ts'
import { createGate } from './server/gate.ts'
import { createHttpServer } from './server/http-server.ts'
import { createFrontPicture } from './tabs/front-picture.ts'
import { createLivingBrowser } from './tabs/living-browser.ts'
import { createSecrets } from './tabs/secrets.ts'

export interface BrowserParts {
  readonly environment: BrowserEnvironment
  readonly token: ProxyToken
  readonly path: string
  readonly clock: Clock
  readonly log: Log
}

export async function compose(parts: BrowserParts): Promise<{ server: Server; stop: () => Promise<void> }> {
  const { environment, token, path, clock, log } = parts
  const { dataDirectory } = environment
  const relay = await startProxyRelay({ proxy: environment.proxy, token: token.value })
  const secrets = createSecrets()
  const browser = createLivingBrowser({
    launch: () => launchBrowser({ clock, token, path, dataDirectory, relayPort: relay.port }),
    dataDirectory,
    secrets,
    log,
  })
  const queue = createActionQueue()
  const watchers = createWatchers()
  const takePicture = createFrontPicture(browser, clock)
  const act = createPerformAction({
    browser,
    queue,
    scrub: secrets.scrub,
    isPersonInControl: () => watchers.mode === 'control',
    clock,
    log,
  })
  const answerCaptcha = createAnswerCaptcha({
    browser,
    queue,
    isPersonInControl: () => watchers.mode === 'control',
    clock,
  })
  const bootId = randomUUID()
  let restingSince = clock.now()

  async function status(): Promise<BrowserStatus> {
    const live = browser.live
    const isResting = !queue.busy && watchers.mode === 'view'
    return {
      ready: true,
      boot_id: bootId,
      live: live !== null,
      ...(live === null ? {} : await frontPage()),
      tabs: live?.tabs.pages.length ?? 0,
      watchers: watchers.count,
      mode: watchers.mode,
      busy: queue.busy,
      idle_seconds: isResting ? Math.max(0, Math.floor((clock.now() - restingSince) / 1000)) : 0,
      sandboxed: live !== null && isSandboxed(),
      memory_bytes: memoryUse(),
    }
  }

  async function frontPage(): Promise<{ url?: string; title?: string }> {
    const page = await browser.live?.tabs.active()
    if (!page) return {}
    const title = await Promise.race([page.title().catch(() => ''), clock.sleep(titleMaxMs).then(() => '')])
    return { url: secrets.scrub(page.url()).slice(0, 4096), title: secrets.scrub(title).slice(0, 300) }
  }

  const close = (): Promise<boolean> =>
    queue.runLast(async () => {
      watchers.close()
      watchers.setMode('view')
      return browser.close()
    })

  const server = createHttpServer({
    gate: createGate({ ...environment, now: clock.now }),
    log,
    operations: {
      status,
      picture: async () => ({ image_base64: (await takePicture())?.toString('base64') ?? null }),
      act: (name, request) =>
        act(name, request).finally(() => {
          restingSince = clock.now()
        }),
      answerCaptcha,
      setMode: (mode: WatchMode) => {
        restingSince = clock.now()
        browser.live?.copyGuard.doubt()
        watchers.setMode(mode)
      },
      close,
      async watch(call) {
        if (watchers.count >= watchersMax)
          throw new Error(`${watchersMax} people already watch this browser, the maximum`)
        const { launched } = await browser.use()
        watchers.admit({ ...call, screenPath: launched.screen.socketPath })
      },
    },
  })
  return {
    server,
    async stop() {
      server.close()
      watchers.close()
      await browser.close()
      await relay.close()
    },
  }
}

const titleMaxMs = 1000
