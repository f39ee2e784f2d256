import { allowedEffects } from '../../../../testing/src/allowed-effects.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import type { CredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { aLine } from '../../../../../tests/support/open-line.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import type { WebServer } from '../../../../../tests/support/web-server.ts'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createForwardRequest } from './forward-request.ts'
import { createPinnedFetch } from './pinned-fetch.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'

const canary = 'canary-5f1e+/="9 ä'
const headerCanary = 'canary-header-77aa'
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })

async function aWeb(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = await startWebServer(answer)
  onTestFinished(() => server.close())
  return server
}

/** Two sites on loopback, and a credential store whose credentials are bound to the first. */
function aServer(ports: readonly number[], room: Partial<CredentialRoom> = {}) {
  const hosts = ports.slice(0, 1).map((port) => `http://site.test:${port}`)
  const { journal: uses, open } = aCredentialRoom({
    values: { token: canary, key: headerCanary },
    hosts: { token: hosts, key: hosts },
    ...room,
  })
  const journal = collectJournal()
  const forward = createForwardRequest({
    checkEffect: allowedEffects,
    ask: () => {},
    loop: ownLoop(),
    guard: () => {},
    fetchFor: () =>
      createPinnedFetch({
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        isAllowed: () => true,
        allowedPorts: ports,
      }),
    journal,
    clock: systemClock,
    holdLease: () => () => {},
    credentials: open,
  })
  const ask = (url: string, request: object = {}, who = 'scout') =>
    forward(agent(who), httpRequestSchema.parse({ url, ...request }), aLine())
  const refused = async (url: string, request: object = {}, who = 'scout') =>
    ask(url, request, who).then(
      () => expect.fail('it was sent'),
      (error: unknown) => error as { code: string; detail: string },
    )
  return { ask, refused, journal, uses }
}

const site = (web: WebServer, path = '/') => `http://site.test:${web.port}${path}`

describe('a credential in a request', () => {
  test('a credential is filled into address, headers and body, and removed from the answer', async () => {
    verifies(
      'resources:credential:handle',
      'resources:credential:substituted-server-side',
      'authentication:credentials:handles-only',
    )
    const web = await aWeb((request, response) => {
      const sent = web.requests.at(-1)
      const all = JSON.stringify({ url: request.url, headers: request.headers, body: sent?.body })
      response.writeHead(200, {
        'x-echo': headerCanary,
        [`x-${headerCanary}`]: 'y',
        etag: `"${encodeURIComponent(canary)}"`,
      })
      response.end(
        `${all}\n${canary}\n${Buffer.from(all).toString('base64')}\n${Buffer.from(canary).toString('hex')}\n${encodeURIComponent(canary)}`,
      )
    })
    const { ask, uses, journal } = aServer([web.port])
    const reply = await ask(`http://u:$CRED{token}@site.test:${web.port}/a/$CRED{token}?k=$CRED{TOKEN}`, {
      method: 'POST',
      headers: { 'X-Key': 'k $CRED{key}', 'content-type': 'application/json' },
      body: '{"k":"$CRED{token}"}',
    })
    expect(web.requests[0]).toMatchObject({
      url: `/a/${encodeURIComponent(canary)}?k=${encodeURIComponent(canary)}`,
      headers: {
        'x-key': `k ${headerCanary}`,
        authorization: `Basic ${Buffer.from(`u:${canary}`).toString('base64')}`,
      },
      body: JSON.stringify({ k: canary }),
    })
    const seen = JSON.stringify(reply)
    for (const value of [canary, headerCanary]) {
      const spellings = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]
      for (const spelling of spellings) {
        expect(seen).not.toContain(spelling)
        expect(seen).not.toContain(Buffer.from(spelling).toString('hex'))
      }
      expect(seen).not.toContain(Buffer.from(value).toString('base64').slice(0, 12))
    }
    const journaled = JSON.stringify([uses.entries, journal.entries])
    expect(journaled).not.toContain('canary')
    expect(uses.entries).toMatchObject([
      {
        actor: 'agent:scout',
        action: 'credential.used',
        subject: 'token',
        detail: { host: `site.test:${web.port}` },
      },
      { actor: 'agent:scout', action: 'credential.used', subject: 'key' },
    ])
  })

  test('a credential is sent only to its bound hosts, and an unbound one nowhere', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { refused, uses } = aServer([web.port, 443], {
      values: { token: canary, loose: headerCanary },
      hosts: { token: [`http://site.test:${web.port}`] },
    })
    const headers = { a: '$CRED{token}' }
    for (const url of [
      `http://other.test:${web.port}/`,
      `http://site.test.evil.test:${web.port}/`,
      'https://site.test/',
      'http://site.test/',
    ])
      expect(await refused(url, { headers })).toMatchObject({ code: 'credential-refused' })
    expect(await refused(site(web), { headers: { a: '$CRED{loose}' } })).toMatchObject({
      code: 'credential-refused',
      detail: expect.stringContaining('flotilla credentials bind loose') as unknown,
    })
    expect(web.requests).toEqual([])
    expect(uses.entries.map(({ action }) => action)).toEqual(Array(5).fill('credential.refused'))
  })

  test('a credential is sent over plain http only if its owner allows it', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { refused } = aServer([web.port], { hosts: { token: [`site.test:${web.port}`] } })
    expect(await refused(site(web), { body: '$CRED{token}' })).toMatchObject({ code: 'credential-refused' })
    expect(web.requests).toEqual([])
  })

  test('missing, system and forbidden credentials give the same refusal', async () => {
    heedsLesson(43)
    verifies(
      'resources:permission:allowed-credentials-system',
      'resources:permission:allowed-credentials-glob',
      'resources:credential:agent-by-permission',
    )
    const web = await aWeb((_request, response) => response.end())
    const room = {
      system: { openai_api_key: 'system-canary-1' },
      allowed: { scout: ['tok*'], boss: ['*'], odd: ['FLOTILLA_SYSTEM_*', 'openai*'] },
    }
    const { refused, ask } = aServer([web.port], room)
    const problem = async (name: string, who: string) => {
      const { code, detail } = await refused(site(web), { body: `$CRED{${name}}` }, who)
      return [code, detail.replaceAll(name.toLowerCase(), 'NAME')]
    }
    const missing = await problem('nothing', 'boss')
    expect(missing[0]).toBe('credential-unknown')
    for (const [name, who] of [
      ['nothing', 'scout'],
      ['key', 'scout'],
      ['openai_api_key', 'boss'],
      ['OpenAI_API_Key', 'boss'],
      ['openai_api_key', 'odd'],
      ['FLOTILLA_SYSTEM_OPENAI_API_KEY', 'odd'],
      ['FLOTILLA_SYSTEM_OPENAI_API_KEY', 'boss'],
    ] as const)
      expect(await problem(name, who), `${name} ${who}`).toEqual(missing)
    expect(web.requests).toEqual([])
    await ask(site(web), { body: '$CRED{TOKEN}' }, 'scout')
    expect(web.requests).toHaveLength(1)
  })

  test('a credential is matched by the glob of the permission record, ignoring case', async () => {
    heedsLesson(31)
    verifies('resources:permission:allowed-credentials-case', 'resources:permission:allowed-credentials-star')
    const web = await aWeb((_request, response) => response.end())
    const name = 'github_main_2'
    for (const [pattern, allowed] of [
      ['*', true],
      ['GITHUB_*', true],
      ['GitHub_MAIN_?', true],
      ['github_main_[1-3]', true],
      ['github', false],
      ['git?', false],
      ['github_main_[!2]', false],
      ['', false],
    ] as const) {
      const { ask } = aServer([web.port], {
        values: { [name]: canary },
        hosts: { [name]: [`http://site.test:${web.port}`] },
        allowed: { scout: pattern === '' ? [] : [pattern] },
      })
      const sent = ask(site(web), { body: '$CRED{GitHub_Main_2}' })
      if (allowed) await sent
      else await expect(sent, pattern).rejects.toMatchObject({ code: 'credential-unknown' })
    }
  })

  test('no credential is filled in while the bindings are invalid', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { refused } = aServer([web.port], { broken: 'config/credentials.json line 3: comma expected' })
    expect(await refused(site(web), { body: '$CRED{token}' })).toMatchObject({
      code: 'credential-refused',
      detail: expect.stringContaining('line 3') as unknown,
    })
  })

  test('a credential too short to be removed from answers is not filled in', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { refused } = aServer([web.port], { values: { token: '1234567' } })
    expect(await refused(site(web), { body: '$CRED{token}' })).toMatchObject({ code: 'credential-refused' })
  })

  test('uses of credentials are limited per minute for each agent', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { ask } = aServer([web.port], { perMinute: 2 })
    for (const who of ['one', 'one', 'two']) await ask(site(web), { body: '$CRED{token}' }, who)
    await expect(ask(site(web), { body: '$CRED{token}' }, 'one')).rejects.toMatchObject({
      code: 'rate-limited',
    })
    await ask(site(web), {}, 'one')
  })

  test('a request for a byte range is refused with a credential', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { refused } = aServer([web.port])
    const headers = { Range: 'bytes=3-9', a: '$CRED{key}' }
    expect(await refused(site(web), { headers })).toMatchObject({ code: 'bad-request' })
  })

  test('a credential is removed from later answers of agents that may use it, and only of those', async () => {
    heedsLesson(29)
    const web = await aWeb((_request, response) => response.end(`${canary} ${headerCanary}`))
    const { ask } = aServer([web.port], { allowed: { one: ['token'], two: ['key'], none: [] } })
    expect((await ask(site(web), {}, 'one')).body).toBe(`[secret] ${headerCanary}`)
    expect((await ask(site(web), {}, 'two')).body).toBe(`${canary} [secret]`)
    expect((await ask(site(web), {}, 'none')).body).toBe(`${canary} ${headerCanary}`)
  })

  test('a credential is removed before an answer is truncated, wherever the cut is', async () => {
    for (const before of [49_985, 49_995, 50_000]) {
      const web = await aWeb((_request, response) =>
        response.end(`${'.'.repeat(before)}${canary}${'x'.repeat(100_000)}`),
      )
      const { ask } = aServer([web.port])
      const reply = await ask(site(web), { headers: { a: '$CRED{key}' } })
      expect(reply).toMatchObject({ truncated: true })
      expect(reply.body).not.toContain('canary')
      expect(reply.body).not.toContain(canary.slice(0, 4))
    }
    const half = await aWeb((_request, response) => response.end(`${'.'.repeat(1024 * 1024 - 12)}${canary}`))
    const { ask } = aServer([half.port], { values: { token: canary.repeat(500), key: headerCanary } })
    expect((await ask(site(half), { headers: { a: '$CRED{key}' } })).body).not.toContain('canary')
  })

  test('a credential is removed from the error of a failed request', async () => {
    const web = await aWeb((_request, response) => response.socket?.destroy())
    const { refused, journal } = aServer([web.port])
    const problem = await refused(site(web, '/$CRED{token}'), { headers: { a: '$CRED{key}' } })
    expect(problem).toMatchObject({ code: 'upstream-failed' })
    expect(problem).not.toHaveProperty('cause')
    expect(JSON.stringify([problem, problem.detail, journal.entries])).not.toContain('canary')
  })
})

describe('a redirect of a request with a credential', () => {
  const to =
    (location: string, status = 307) =>
    (request: IncomingMessage, response: ServerResponse) =>
      request.url === '/' || request.url?.startsWith('/?')
        ? response.writeHead(status, { location }).end()
        : response.end()

  test('a redirect within the origin keeps the credential', async () => {
    const web = await aWeb(to('/next'))
    const { ask } = aServer([web.port])
    await ask(site(web), { method: 'POST', headers: { 'x-plain': '$CRED{key}' }, body: '$CRED{token}' })
    expect(web.requests[1]).toMatchObject({
      url: '/next',
      headers: { 'x-plain': headerCanary },
      body: canary,
    })
  })

  test('a redirect to another origin drops every header that a credential filled', async () => {
    const far = await aWeb((_request, response) => response.end())
    const web = await aWeb(to(`http://far.test:${far.port}/`))
    const { ask } = aServer([web.port, far.port], {
      hosts: { key: [`http://site.test:${web.port}`, `http://far.test:${far.port}`], token: [] },
    })
    await ask(site(web), { headers: { accept: 'a $CRED{key}', 'x-plain': 'stays' } })
    expect(web.requests[0]?.headers.accept).toBe(`a ${headerCanary}`)
    expect(far.requests[0]?.headers).toMatchObject({ 'x-plain': 'stays' })
    expect(far.requests[0]?.headers.accept).toBeUndefined()
  })

  test('a redirect back to the first origin does not restore the credential', async () => {
    const far = await aWeb((_request, response) =>
      response.writeHead(302, { location: `http://site.test:${web.port}/home` }).end(),
    )
    const web: WebServer = await aWeb(to(`http://far.test:${far.port}/`))
    const { ask } = aServer([web.port, far.port])
    await ask(site(web), { headers: { accept: '$CRED{key}' } })
    expect(web.requests.map(({ headers }) => headers.accept)).toEqual([headerCanary, undefined])
  })

  test.each([
    ['the body', (port: number) => `http://far.test:${port}/`, { method: 'POST', body: '$CRED{key}' }],
    [
      'its address',
      (port: number) => `http://far.test:${port}/?k=canary%2Dheader%2d77aa`,
      { headers: { a: '$CRED{key}' } },
    ],
    [
      'the name of its host',
      (port: number) => `http://${Buffer.from(headerCanary).toString('hex')}.far.test:${port}/`,
      { headers: { a: '$CRED{key}' } },
    ],
  ])(
    'a redirect to another origin that would carry the credential in %s is refused',
    async (_where, location, request) => {
      const far = await aWeb((_request, response) => response.end())
      const web = await aWeb(to(location(far.port)))
      const { refused, journal } = aServer([web.port, far.port])
      const problem = await refused(site(web), request)
      expect(problem).toMatchObject({ code: 'credential-refused' })
      expect(far.requests).toEqual([])
      expect(JSON.stringify([problem, problem.detail, journal.entries])).not.toMatch(/canary|63616e617279/)
    },
  )

  test('a redirect that turns into GET drops the body and continues', async () => {
    const far = await aWeb((_request, response) => response.end('there'))
    const web = await aWeb(to(`http://far.test:${far.port}/`, 303))
    const { ask } = aServer([web.port, far.port])
    expect((await ask(site(web), { method: 'POST', body: '$CRED{token}' })).body).toBe('there')
    expect(far.requests[0]).toMatchObject({ method: 'GET', body: '' })
  })
})
