import type { Browser, Page } from 'playwright-core'
import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { pauseApi, pauseEndpoints } from '@flotilla/protocol/pause-api'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { canBeHosted, onHostedMachine, sessionOf } from '../support/hosted-machine.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { addDoorToken } from '../support/own-token.ts'
import { startWebServer } from '../support/web-server.ts'
import { verifies } from '../verifies.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'
import { asksAsStranger, opensSocket } from './rebinding.ts'

const pagePaths = [
  '/',
  '/chat',
  '/fleet',
  '/runs',
  '/work',
  '/blackboard',
  '/approvals',
  '/settings',
  '/welcome',
]
const apiPaths = ['/api/status', '/api/runs', '/api/setup', '/api/journal']
const cookie = (value = sessionOf()) => ({ name: 'ol_session', value })

describe.skipIf(!hasBrowser || !canBeHosted)('the dashboard of a hosted machine', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startMesh({ startedBy: onHostedMachine }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  const socketOf = (url: string) => `${url.replace('http', 'ws')}/ws/events?since=0`
  async function paused(): Promise<number> {
    const headers = { cookie: `ol_session=${sessionOf()}` }
    const reply = await mesh.call(pauseEndpoints.pauses, { headers })
    return pauseApi.pauses.response.parse(reply.json()).pauses.length
  }

  it('the dashboard of a hosted machine opens with the session, live, and shows nothing of itself with a wrong, an old or no cookie', async () => {
    verifies('authentication:dashboard:cookie-required', 'authentication:dashboard:cookie-hmac')
    const { page, open, faults, context } = await openPage(browser, mesh.url, { cookie: cookie() })
    await open('/fleet')
    await page.locator('[data-line=live]').waitFor()
    await page.getByRole('heading', { name: 'operator' }).waitFor()
    expect(await opensSocket(page, socketOf(mesh.url))).toBe(true)
    expect(faults).toEqual([])
    await context.close()
    const [moment = '', mark = ''] = sessionOf().split('.')
    const wrong = {
      none: undefined,
      'signed by another': cookie(sessionOf('another-token')),
      old: cookie(sessionOf(undefined, -1)),
      'made to last': cookie(`${Number(moment) + 1}.${mark}`),
      'without a signature': cookie(`${moment}.`),
    }
    for (const [how, sent] of Object.entries(wrong)) {
      const refused = await openPage(browser, mesh.url, sent === undefined ? {} : { cookie: sent })
      for (const path of pagePaths) {
        const reply = await refused.page.goto(mesh.url + path)
        expect(reply?.status(), `${how} ${path}`).toBe(401)
        expect(await refused.page.locator('main, #app').count(), `${how} ${path}`).toBe(0)
      }
      // The content security policy of a refused page forbids sockets, so the test opens one from a page without a
      // policy.
      await refused.page.route('**/empty', (route) => route.fulfill({ contentType: 'text/html', body: '' }))
      await refused.page.goto(`${mesh.url}/empty`)
      expect(await opensSocket(refused.page, socketOf(mesh.url)), how).toBe(false)
      await refused.context.close()
    }
  })

  it('the dashboard of a hosted machine rejects requests of a foreign page, although the browser sends the cookie', async () => {
    const stranger = await startWebServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>A stranger</title>')
    })
    onTestFinished(() => stranger.close())
    // Cookies are shared between the ports of a host, so the browser sends this one with requests of the foreign
    // page.
    const url = `http://127.0.0.1:${stranger.port}`
    const { page, context } = await openPage(browser, url, { cookie: cookie() })
    await page.goto(url)
    const body = JSON.stringify({ reason: 'a stranger wants it' })
    // A simple request needs no preflight, so the browser sends it; the mesh refuses it.
    expect(await asksForPause(page, { url: mesh.url, mode: 'no-cors', headers: {}, body })).toBe('refused')
    expect(await paused()).toBe(0)
    const asked = { 'x-requested-with': 'flotilla', 'content-type': 'application/json' }
    expect(await asksForPause(page, { url: mesh.url, mode: 'cors', headers: asked, body })).toBe('refused')
    const [answered] = await Promise.all([
      page.waitForResponse((reply) => reply.url().endsWith('/api/pauses')),
      page.setContent(
        `<form method="POST" enctype="text/plain" action="${mesh.url}${pauseEndpoints.pause.path}"><button>Win</button></form>`,
      ),
      page.getByRole('button', { name: 'Win' }).click(),
    ])
    expect(answered.status()).toBe(403)
    await page.goto(url)
    expect(await opensSocket(page, socketOf(mesh.url))).toBe(false)
    expect(await paused()).toBe(0)
    await context.close()

    const own = await openPage(browser, mesh.url, { cookie: cookie() })
    await own.open('/fleet')
    const ask = { url: mesh.url, mode: 'same-origin', body } as const
    // The mesh's own page is refused without the header that no form can send, and accepted with it.
    expect(await asksForPause(own.page, { ...ask, headers: { 'content-type': 'application/json' } })).toBe(
      '403',
    )
    expect(await paused()).toBe(0)
    expect(await asksForPause(own.page, { ...ask, headers: asked })).toBe('200')
    expect(await paused()).toBe(1)
    await own.context.close()
  })

  it('the dashboard of a hosted machine gives a name that was bound to this machine nothing: pages, API and socket want the session', async () => {
    const { statuses, socket } = await asksAsStranger(browser, mesh.url, [...pagePaths, ...apiPaths])
    expect(new Set(statuses)).toEqual(new Set([401]))
    expect(socket).toBe(false)
  })

  it('the dashboard of a hosted machine refuses what an agent holds, with a session and without', async () => {
    const headers = { authorization: `Bearer ${addDoorToken(mesh.home, 'operator')}` }
    const session = { cookie: `ol_session=${sessionOf()}` }
    for (const path of [...pagePaths, ...apiPaths]) {
      expect((await fetch(mesh.url + path, { headers })).status, path).toBe(401)
      expect((await fetch(mesh.url + path, { headers: { ...headers, ...session } })).status, path).toBe(401)
    }
    expect((await mesh.call(peopleAdminEndpoints.me, { headers: session })).status).toBe(200)
  })
})

/**
 * Sends the request from a script of the page. Returns the status, or how it failed if the page may not read it.
 */
async function asksForPause(
  page: Page,
  call: {
    readonly url: string
    readonly mode: 'no-cors' | 'cors' | 'same-origin'
    readonly headers: Record<string, string>
    readonly body: string
  },
): Promise<string> {
  return await page.evaluate(async ({ url, mode, headers, body }) => {
    const sent = { method: 'POST', mode, headers, body, credentials: 'include' } as const
    try {
      const reply = await fetch(`${url}/api/pauses`, sent)
      return reply.type === 'opaque' ? 'opaque' : String(reply.status)
    } catch {
      return 'refused'
    }
  }, call)
}
