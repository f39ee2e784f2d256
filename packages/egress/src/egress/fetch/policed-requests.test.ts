import { loopbackFetch } from '../../../../testing/src/loopback-fetch.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { afterEach, describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { aLine } from '../../../../../tests/support/open-line.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import type { WebServer } from '../../../../../tests/support/web-server.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { policyOf } from '../../../../testing/src/policy-of.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createForwardRequest } from './forward-request.ts'

const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
const running: WebServer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()))
})

async function aRoom(policy: string, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const web = await startWebServer(answer)
  running.push(web)
  const asked: unknown[] = []
  const journal = collectJournal()
  const forward = createForwardRequest({
    loop: ownLoop(),
    guard: () => {},
    fetchFor: () => loopbackFetch(web.port),
    journal,
    clock: systemClock,
    holdLease: () => () => {},
    credentials: aCredentialRoom({
      values: { token: 'canary' },
      hosts: { token: [`http://site.test:${web.port}`] },
    }).open,
    checkEffect: policyOf(policy),
    ask: (_caller, request, { decision }) => {
      asked.push([request.url, decision.rule])
      throw new Error('asked')
    },
  })
  const send = (path: string, request: object = {}) =>
    forward(
      scout,
      httpRequestSchema.parse({ url: `http://site.test:${web.port}${path}`, ...request }),
      aLine({}),
    )
  return { web, send, asked, journal }
}

const rule = (match: string, verdict: string) =>
  `rules:\n  - { name: r, match: ${match}, verdict: ${verdict} }`
const ok = (_request: IncomingMessage, response: ServerResponse) => void response.end('ok')

describe('a request under a policy', () => {
  test('is refused by a rule about its path, however the path is spelled, and sends nothing', async () => {
    const { web, send } = await aRoom(rule('{ host: site.test, path: /admin/** }', 'deny'), ok)
    for (const path of ['/admin/x', '/%61dmin/x', '//admin/x', '/a/..%2fadmin/x'])
      await expect(send(path)).rejects.toMatchObject({ code: 'policy-denied' })
    expect(web.requests).toEqual([])
    expect(await send('/other')).toMatchObject({ body: 'ok' })
  })

  test('a redirect is decided by the method that its header names', async () => {
    const { send } = await aRoom(
      rule('{ path: /tickets/*, method: DELETE }', 'deny'),
      (request, response) => {
        if (request.url === '/tickets/7') return void response.end('deleted')
        response.writeHead(307, { location: '/tickets/7' }).end()
      },
    )
    const headers = { 'X-HTTP-Method-Override': 'DELETE' }
    await expect(send('/other', { method: 'POST', headers })).rejects.toMatchObject({ code: 'policy-denied' })
    expect(await send('/other', { method: 'POST' })).toMatchObject({ body: 'deleted' })
  })

  test.each(['X-Original-URL', 'x-rewrite-url', 'X_Original_URL', 'X-Original-URI'])(
    'a path that the header %s may replace is decided as a hidden one, also after a redirect',
    async (name) => {
      const { web, send } = await aRoom(rule('{ path: /admin/** }', 'deny'), (request, response) =>
        request.url === '/moved'
          ? void response.writeHead(307, { location: '/to' }).end()
          : void response.end('ok'),
      )
      const headers = { [name]: '/admin/users' }
      await expect(send('/other', { headers })).rejects.toMatchObject({ code: 'policy-denied' })
      await expect(send('/moved', { headers })).rejects.toMatchObject({ code: 'policy-denied' })
      expect(web.requests).toEqual([])
      expect(await send('/other')).toMatchObject({ body: 'ok' })
    },
  )

  test('is refused by a rule about a credential that it carries', async () => {
    const { web, send } = await aRoom(rule('{ credential: TOKEN }', 'deny'), ok)
    await expect(send('/', { headers: { 'x-key': '$CRED{token}' } })).rejects.toMatchObject({
      code: 'policy-denied',
    })
    expect(web.requests).toEqual([])
    await send('/')
  })

  test('with a credential in its path is refused by every rule about paths of its host', async () => {
    const { send } = await aRoom(rule('{ host: site.test, path: /admin }', 'deny'), ok)
    await expect(send('/bot$CRED{token}/send')).rejects.toMatchObject({ code: 'policy-denied' })
  })

  test('is asked for before it is sent', async () => {
    const { web, send, asked } = await aRoom(rule('{ method: POST }', 'ask'), ok)
    await expect(send('/a', { method: 'POST' })).rejects.toThrow('asked')
    expect(asked).toEqual([[`http://site.test:${web.port}/a`, 'r']])
    expect(web.requests).toEqual([])
  })

  test.each(['deny', 'ask'])(
    'does not follow a redirect to an address with the verdict %s',
    async (verdict) => {
      const { web, send } = await aRoom(rule('{ path: /secret }', verdict), (request, response) => {
        if (request.url === '/start') response.writeHead(302, { location: '/secret' }).end()
        else response.end('secret')
      })
      await expect(send('/start')).rejects.toMatchObject({ code: 'policy-denied' })
      expect(web.requests.map(({ url }) => url)).toEqual(['/start'])
    },
  )

  test('is recorded with the rule that allows it', async () => {
    const { send, journal } = await aRoom(rule('{ method: GET }', 'allow'), ok)
    await send('/a')
    expect(journal.entries).toMatchObject([{ action: 'http.requested', detail: { rule: 'r', status: 200 } }])
  })
})
