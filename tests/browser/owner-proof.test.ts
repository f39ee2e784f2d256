import { request } from 'node:http'
import type { Browser } from 'playwright-core'
import { dashboardPageEndpoints } from '@flotilla/protocol/dashboard-api'
import { provedRoutes } from '@flotilla/protocol/owner-proof'
import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'
import { asksAsStranger } from './rebinding.ts'

describe.skipIf(!hasBrowser)('what a page may do, self-hosted', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startMesh(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  /** Sends a request from a script of the page, with the headers that a foreign script would set. */
  async function fromPage(
    page: Awaited<ReturnType<typeof openPage>>['page'],
    call: { readonly path: string; readonly method: string; readonly headers?: Record<string, string> },
  ): Promise<{ status: number; text: string; store: string | null }> {
    return await page.evaluate(async ({ path, method, headers }) => {
      const sent = { method, headers: headers ?? {}, body: '{}' }
      const reply = await fetch(path, sent)
      return { status: reply.status, text: await reply.text(), store: reply.headers.get('cache-control') }
    }, call)
  }

  it('what a page may do, self-hosted asks for the owner’s proof before what cannot be undone, whatever the page says it is', async () => {
    const { page, open, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    const asked = { 'x-requested-with': 'flotilla', 'content-type': 'application/json' }
    for (const route of provedRoutes) {
      const [method = '', pattern = ''] = route.split(' ')
      const path = pattern.replace(/\{\w+\}/g, 'some')
      for (const more of [{}, { 'x-flotilla-proof': 'guessed' }]) {
        const refused = await fromPage(page, { path, method, headers: { ...asked, ...more } })
        expect(refused, route).toMatchObject({ status: 403, store: 'no-store' })
        expect(refused.text, route).toContain('proof-wanted')
      }
    }
    // If a page could request the code itself, the code would prove nothing.
    const code = await fromPage(page, { path: '/api/proof/code', method: 'POST', headers: asked })
    expect(code.text).toContain('proof-wanted')
    await context.close()
  })

  it('what a page may do, self-hosted takes a right code once, says of a wrong one that it is wrong, and does then what was asked for', async () => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, mesh.url)
    await open('/settings/people')
    await page.getByLabel('Name', { exact: true }).fill('grace')
    await page.getByRole('button', { name: 'Add' }).click()
    const field = page.getByRole('textbox', { name: 'Code of flotilla proof' })
    await field.fill('00000000')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('no code is open').waitFor()
    await picture('owner-proof')
    expect(await breaches()).toEqual([])
    await giveProof(mesh, page)
    await page.getByText('The token of grace').waitFor()
    // The proof is still valid for the next action.
    await page.getByRole('button', { name: 'Remove grace' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove grace' }).click()
    await page.getByText('Only you').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('what a page may do, self-hosted gives a name of a stranger that was bound to this machine nothing: no page, no answer, no socket', async () => {
    const paths = ['/', '/fleet', '/work', '/settings', '/api/status', '/api/runs', '/api/setup']
    const { statuses, socket } = await asksAsStranger(browser, mesh.url, paths)
    expect(new Set(statuses)).toEqual(new Set([403]))
    expect(socket).toBe(false)
  })

  it('what a page may do, self-hosted refuses writes without X-Requested-With, names that are not this machine’s, and tokens of agents', async () => {
    const { page, open, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    const bare = await fromPage(page, { path: '/api/pauses', method: 'POST' })
    expect(bare.status).toBe(403)
    await context.close()
    const port = new URL(mesh.url).port
    const statusOf = (path: string, headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const call = request({ host: '127.0.0.1', port, path, headers, agent: false })
        call.on('response', (reply) => resolve(reply.resume().statusCode))
        call.on('error', reject)
        call.end()
      })
    const routes = [
      ...Object.values(dashboardPageEndpoints).map(({ path }) => path.replace(/\{\w+\}/g, 'some')),
      '/api/status',
      '/api/setup',
    ]
    for (const path of routes) {
      expect(await statusOf(path, { host: `evil.example:${port}` }), path).toBe(403)
      expect(
        await statusOf(path, { host: `127.0.0.1:${port}`, authorization: 'Bearer agent-token' }),
        path,
      ).toBe(401)
    }
    expect((await mesh.call(peopleAdminEndpoints.me)).status).toBe(200)
  })
})
