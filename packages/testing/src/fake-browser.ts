import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { isBrowserAction } from '@flotilla/protocol/browser-actions'
import { captchaAnswerSchema } from '@flotilla/protocol/browser-service-api'
import type {
  BrowserAction,
  BrowserActionReply,
  BrowserStatus,
  Captcha,
  CaptchaAnswer,
} from '@flotilla/protocol/browser-service-api'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJson } from '../../foundation/src/intake/index.ts'
import type { BrowserContainers, BrowserSpec } from '../../fleet/src/sandbox/browser-containers.ts'
import type { WallReport } from '../../fleet/src/sandbox/wall-report.ts'

/** Fake of the service that `browser-service.ts` calls: serves its protocol over HTTP, without a browser. */
export interface FakeBrowser {
  readonly port: number
  readonly acted: { readonly action: string; readonly params: Record<string, unknown> }[]
  /** Answers to CAPTCHAs that were entered into its page. */
  readonly answers: CaptchaAnswer[]
  /** The requests to open screens, and the input on them. */
  readonly screens: string[]
  readonly typedOnScreen: string[]
  mode: 'view' | 'control'
  page: { url: string; title: string }
  /** The CAPTCHA of its page; null once it is answered. */
  asks: Captcha
  /** Replaces the usual answer; undefined for the usual one. */
  answer: (action: BrowserAction) => Promise<BrowserActionReply | string | undefined> | undefined
  close(): Promise<void>
}

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export async function startFakeBrowser(): Promise<FakeBrowser> {
  const acted: FakeBrowser['acted'] = []
  const answers: CaptchaAnswer[] = []
  const screens: string[] = []
  const typedOnScreen: string[] = []
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: () => 'binary',
  })
  const server = createServer((request, response) => void serve(request, response))
  server.on('upgrade', (request, socket, head) => {
    screens.push(new URL(request.url ?? '', 'http://fake').searchParams.get('watcher') ?? '')
    sockets.handleUpgrade(request, socket, head, (reader) => {
      reader.on('message', (said) => typedOnScreen.push(Buffer.from(said as Buffer).toString('latin1')))
      reader.send(Buffer.from('RFB 003.008\n'))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function status(): BrowserStatus {
    return {
      ready: true,
      boot_id: 'boot',
      live: true,
      ...browser.page,
      tabs: 1,
      watchers: sockets.clients.size,
      mode: browser.mode,
      busy: false,
      idle_seconds: 0,
      sandboxed: true,
      memory_bytes: 0,
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (code: number, body: unknown) =>
      response
        .writeHead(code, { 'content-type': 'application/json' })
        .end(typeof body === 'string' ? body : JSON.stringify(body))
    if (!/^Bearer ./.test(request.headers.authorization ?? '')) return void send(401, {})
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const body = (text === '' ? {} : readJson(text, jsonLimits.body)) as unknown as {
      params: Record<string, unknown>
      mode: 'view' | 'control'
    }
    const action = request.url?.split('/actions/')[1] ?? ''
    if (request.url === '/status') return void send(200, status())
    if (request.url === '/picture') return void send(200, { image_base64: pixel })
    if (request.url === '/close') return void send(200, { closed: true })
    if (request.url === '/captcha-answer') {
      const answer = captchaAnswerSchema.parse(body)
      const answered = browser.asks?.site_key === answer.site_key && browser.mode === 'view'
      if (answered) {
        answers.push(answer)
        browser.asks = null
      }
      return void send(200, { answered })
    }
    if (request.url === '/watch-mode') {
      browser.mode = body.mode
      return void send(200, { mode: body.mode })
    }
    if (!isBrowserAction(action)) return void send(404, {})
    acted.push({ action, params: body.params })
    send(200, (await browser.answer(action)) ?? usual(action, body.params))
  }

  function usual(action: BrowserAction, params: Record<string, unknown>): BrowserActionReply {
    if (action === 'navigate') browser.page = { url: String(params['url']), title: 'A page' }
    const { url, title } = browser.page
    const host = URL.canParse(url) ? new URL(url).host : ''
    const page = { url, title, host, tab_index: 0, tabs: 1 }
    return { ok: true, data: { page, dialogs: [], notices: [], ...dataOf(action, browser.asks) } }
  }

  const browser: FakeBrowser = {
    port: (server.address() as AddressInfo).port,
    acted,
    answers,
    screens,
    typedOnScreen,
    mode: 'view',
    page: { url: 'about:blank', title: '' },
    asks: null,
    answer: () => undefined,
    close: () =>
      new Promise((resolve) => {
        for (const reader of sockets.clients) reader.terminate()
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return browser
}

function dataOf(action: BrowserAction, captcha: Captcha): object {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the other actions return only the page
  switch (action) {
    case 'navigate':
      return { http_status: 200, captcha }
    case 'click':
      return { captcha }
    case 'snapshot':
      return { captcha, text: 'button "Go" [e1]', elements: 1, left_out: '' }
    case 'screenshot':
      return { image_base64: pixel, mime_type: 'image/png', width: 1, height: 1 }
    case 'download':
      return {
        name: '../Report of May.txt',
        mime_type: 'text/plain',
        size_bytes: 5,
        content_base64: Buffer.from('hello').toString('base64'),
      }
    case 'select':
      return { selected: ['a'] }
    case 'wait_for':
      return { found: true }
    case 'find_text':
      return { matches: [], total: 0 }
    case 'inspect_requests':
      return { requests: [] }
    default:
      return {}
  }
}

export interface FakeBrowserContainers extends BrowserContainers {
  readonly running: Map<string, FakeBrowser>
  readonly specs: BrowserSpec[]
  readonly profiles: Set<string>
  /** The results of the isolation check. */
  walls: readonly WallReport[]
  /** Called in `start`, before anything runs; a rejection is a failed start. */
  beforeStart: (spec: BrowserSpec) => Promise<void>
  /** Makes the container end by itself. */
  kill(agentId: string, exit: { readonly code: number; readonly lastWords: string }): Promise<void>
}

/** ADAPTER of `browser-containers.ts` in memory: each container is a fake browser on a port of its own. */
export function createFakeBrowserContainers(): FakeBrowserContainers {
  const running = new Map<string, FakeBrowser>()
  const ended = new Map<string, { readonly code: number; readonly lastWords: string }>()
  const profiles = new Set<string>()
  const specs: BrowserSpec[] = []
  const stop = async (agentId: string): Promise<void> => {
    ended.delete(agentId)
    const browser = running.get(agentId)
    running.delete(agentId)
    await browser?.close()
  }
  const containers: FakeBrowserContainers = {
    running,
    specs,
    profiles,
    walls: [{ id: 'host-ports-closed', holds: true, detail: 'there is no host' }],
    beforeStart: async () => {},
    prepare: async () => {},
    proxyPlace: () => ({ host: '127.0.0.1', port: 0 }),
    checkWalls: async () => containers.walls,
    start: async (spec) => {
      await containers.beforeStart(spec)
      await stop(spec.agentId)
      specs.push(spec)
      profiles.add(spec.agentId)
      const browser = await startFakeBrowser()
      running.set(spec.agentId, browser)
      return { host: '127.0.0.1', port: browser.port }
    },
    inspect: async (agentId) => {
      const exit = ended.get(agentId)
      if (exit) return { running: false, exit: { ...exit, outOfMemory: false } }
      return running.has(agentId) ? { running: true } : null
    },
    stop,
    removeProfile: async (agentId) => {
      await stop(agentId)
      profiles.delete(agentId)
    },
    removeAll: async () => {
      await Promise.all([...running.keys()].map(stop))
    },
    kill: async (agentId, exit) => {
      await stop(agentId)
      ended.set(agentId, exit)
    },
  }
  return containers
}

/** A server in the place of a browser's service that answers as the test decides. */
export async function startHostileFarEnd(
  answer: (response: ServerResponse) => void,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((_request, response) => answer(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
